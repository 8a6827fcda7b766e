// sluice/aug/pointwise/channel_dropout.cpp - one channel becomes 0.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/bits.h"
#include "sluice/aug/kernels/channel_affine.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <array>

namespace sluice::aug {
namespace {

struct ChannelDropoutDraw {
  int channel = -1;  // none
};

ChannelDropoutDraw sample(const NoParams&, Rng& rng, Shape input) {
  if (input.channels < 2) return {};
  return {static_cast<int>(rng.below(static_cast<std::uint64_t>(input.channels)))};
}

Status fits(const ChannelDropoutDraw& draw, Shape input) {
  if (draw.channel < input.channels) return ok;
  return Error{Errc::invalid_input,
               fmt::format("ChannelDropout: channel {} of an image of {}: it must be below",
                           draw.channel, input.channels)};
}

template <class T>
void dropout_reference(ImageSpan<T> dst, ImageView<T> src, const ChannelDropoutDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = c == draw.channel ? static_cast<T>(0) : src.at(x, y, c);
}

void dropout_u8(const Frames<std::uint8_t>& frames, const ChannelDropoutDraw& draw, Scratch&) {
  const auto channels = static_cast<std::size_t>(frames.src[0].channels());
  std::array<std::uint8_t, image::kMaxChannels> masks{};
  masks.fill(0xFF);
  if (draw.channel >= 0) masks[static_cast<std::size_t>(draw.channel)] = 0;
  for_each_run(frames, [&](std::uint8_t* dst, const std::uint8_t* src, std::size_t count) {
    kernels::keep_bits_channels(dst, src, count / channels, channels, masks.data());
  });
}

void dropout_f32(const Frames<float>& frames, const ChannelDropoutDraw& draw, Scratch&) {
  const auto channels = static_cast<std::size_t>(frames.src[0].channels());
  std::array<float, image::kMaxChannels> scale{}, offset{};
  scale.fill(1);
  if (draw.channel >= 0) scale[static_cast<std::size_t>(draw.channel)] = 0;
  for_each_run(frames, [&](float* dst, const float* src, std::size_t count) {
    kernels::affine_channels(dst, src, count / channels, channels, scale.data(), offset.data());
  });
}

}  // namespace

TransformSpec channel_dropout_spec() {
  return make_transform(Definition<NoParams, ChannelDropoutDraw>{
      .name = "ChannelDropout",
      .doc = "One channel, drawn, becomes 0; an image of one channel stays.",
      .parity = Parity::equal,
      .draw = {field("channel", &ChannelDropoutDraw::channel, -1, image::kMaxChannels - 1,
                     "-1: none")},
      .sample = sample,
      .fits = fits,
      .fast = {dropout_u8, dropout_f32},
      .reference = {dropout_reference, dropout_reference},
      .in_place = true});
}

}  // namespace sluice::aug
