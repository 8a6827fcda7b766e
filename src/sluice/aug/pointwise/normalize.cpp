// sluice/aug/pointwise/normalize.cpp - samples less a mean, over a deviation, as floats.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/channel_affine.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/rows.h"

#include <array>

namespace sluice::aug {
namespace {

constexpr std::size_t kMost = image::kMaxChannels;

struct NormalizeParams {
  Few<double, kMost> mean{{0.485, 0.456, 0.406}, 3};
  Few<double, kMost> std{{0.229, 0.224, 0.225}, 3};
};
struct NormalizeDraw {
  Few<float, kMost> mean{};
  Few<float, kMost> std{};
};

NormalizeDraw fixed(const NormalizeParams& params, Shape) {
  NormalizeDraw draw;
  for (const double mean : params.mean)
    draw.mean.push(static_cast<float>(mean));
  for (const double std : params.std)
    draw.std.push(static_cast<float>(std));
  return draw;
}

template <class Statistics>
Status check_statistics(const Statistics& params) {
  if (params.mean.size() > 0 && params.mean.size() == params.std.size()) return ok;
  return Error{Errc::invalid_config,
               fmt::format("{} values of mean and {} of std: as many, and at least one",
                           params.mean.size(), params.std.size())};
}

Status check(const NormalizeParams& params) {
  return check_statistics(params);
}
Status fits(const NormalizeDraw& draw, Shape) {
  return check_statistics(draw);
}

template <class T>
void normalize_reference(ImageSpan<float> dst, ImageView<T> src, const NormalizeDraw& draw) {
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const std::size_t i = static_cast<std::size_t>(c) % draw.mean.size();
        const double share = static_cast<double>(src.at(x, y, c)) / kMaxSample<T>;
        dst.at(x, y, c) = static_cast<float>((share - static_cast<double>(draw.mean[i])) /
                                             static_cast<double>(draw.std[i]));
      }
}

template <class T>
void normalize_fast(const Frames<T, float>& frames, const NormalizeDraw& draw, Scratch&) {
  const auto channels = static_cast<std::size_t>(frames.src[0].channels());
  std::array<float, kMost> scale{}, offset{};
  for (std::size_t c = 0; c < channels; ++c) {
    const auto mean = static_cast<double>(draw.mean[c % draw.mean.size()]);
    const auto std = static_cast<double>(draw.std[c % draw.mean.size()]);
    scale[c] = static_cast<float>(1 / (std * kMaxSample<T>));
    offset[c] = static_cast<float>(-mean / std);
  }
  for_each_run(frames, [&](float* dst, const T* src, std::size_t count) {
    kernels::affine_channels(dst, src, count / channels, channels, scale.data(), offset.data());
  });
}

}  // namespace

TransformSpec normalize_spec() {
  return make_transform(Definition<NormalizeParams, NormalizeDraw>{
      .name = "Normalize",
      .doc = "(x / max - mean) / std as f32; the lists repeat over the channels.",
      .parity = Parity::pointwise,
      .params = {field("mean", &NormalizeParams::mean, -1e6, 1e6),
                 field("std", &NormalizeParams::std, 1e-6, 1e6)},
      .draw = {field("mean", &NormalizeDraw::mean, -1e6, 1e6),
               field("std", &NormalizeDraw::std, 1e-6, 1e6)},
      .fixed = fixed,
      .check = check,
      .fits = fits,
      .fast = {nullptr, normalize_fast, normalize_fast},
      .reference = {nullptr, normalize_reference, normalize_reference},
      .f32 = {.max = 2e-6, .reason = "a product and a sum in single precision, of up to 2.7"}});
}

}  // namespace sluice::aug
