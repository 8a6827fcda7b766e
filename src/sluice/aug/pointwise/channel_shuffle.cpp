// sluice/aug/pointwise/channel_shuffle.cpp - the channels in another order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/permute.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <span>

namespace sluice::aug {
namespace {

struct ChannelShuffleDraw {
  Few<std::uint8_t, image::kMaxChannels> order{};  // channel c comes from order[c]
};

ChannelShuffleDraw sample_order(const NoParams&, Rng& rng, Shape input) {
  ChannelShuffleDraw draw;
  for (int c = 0; c < input.channels; ++c)
    draw.order.push(static_cast<std::uint8_t>(c));
  rng.shuffle(std::span<std::uint8_t>(draw.order.values.data(), draw.order.count));
  return draw;
}

Status fits(const ChannelShuffleDraw& draw, Shape input) {
  if (draw.order.size() != static_cast<std::size_t>(input.channels))
    return Error{Errc::invalid_input,
                 fmt::format("ChannelShuffle: an order of {} channels for an image of {}",
                             draw.order.size(), input.channels)};
  for (const std::uint8_t channel : draw.order)
    if (channel >= input.channels)
      return Error{Errc::invalid_input,
                   fmt::format("ChannelShuffle: channel {} of an image of {}: it must be below",
                               channel, input.channels)};
  return ok;
}

template <class T>
void shuffle_reference(ImageSpan<T> dst, ImageView<T> src, const ChannelShuffleDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c)
        dst.at(x, y, c) = src.at(x, y, draw.order[static_cast<std::size_t>(c)]);
}

template <class T>
void shuffle_fast(const Frames<T>& frames, const ChannelShuffleDraw& draw, Scratch&) {
  const std::size_t channels = draw.order.size();
  for_each_run(frames, [&](T* dst, const T* src, std::size_t count) {
    kernels::permute_channels(dst, src, count / channels, channels, draw.order.begin());
  });
}

}  // namespace

TransformSpec channel_shuffle_spec() {
  return make_transform(Definition<NoParams, ChannelShuffleDraw>{
      .name = "ChannelShuffle",
      .doc = "The channels in an order drawn from all orders.",
      .parity = Parity::equal,
      .draw = {field("order", &ChannelShuffleDraw::order, 0, image::kMaxChannels - 1,
                     "channel c comes from order[c]")},
      .sample = sample_order,
      .fits = fits,
      .fast = {shuffle_fast, shuffle_fast},
      .reference = {shuffle_reference, shuffle_reference},
      .in_place = true});
}

}  // namespace sluice::aug
