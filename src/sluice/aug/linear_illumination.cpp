// sluice/aug/linear_illumination.cpp - adds a gradient from top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/noise_levels.h"
#include "sluice/aug/make_transform.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

struct LinearIlluminationParams {
  std::array<double, 2> gain = {0.01, 0.2};  // share of the largest sample
};
struct LinearIlluminationDraw {
  double intensity = 0;  // at the bottom; negative darkens
};

LinearIlluminationDraw sample(const LinearIlluminationParams& params, Rng& rng, Shape) {
  const double gain = rng.uniform(params.gain[0], params.gain[1]);
  return {rng.below(2) == 0 ? gain : -gain};
}

template <class T>
void linear_illumination_reference(ImageSpan<T> dst, ImageView<T> src,
                                   const LinearIlluminationDraw& draw) {
  const double largest = kMaxSample<T>;
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const double share = src.height() > 1 ? static_cast<double>(y) / (src.height() - 1) : 0;
        const double value =
            std::clamp(src.at(x, y, c) + largest * draw.intensity * share, 0.0, largest);
        dst.at(x, y, c) = static_cast<T>(std::same_as<T, float> ? value : std::floor(value + 0.5));
      }
}

template <class T>
void linear_illumination_fast(const Frames<T>& frames, const LinearIlluminationDraw& draw,
                              Scratch&) {
  const int height = frames.src[0].height();
  for (std::size_t f = 0; f < frames.size(); ++f)
    for (int y = 0; y < height; ++y) {
      const double share = height > 1 ? static_cast<double>(y) / (height - 1) : 0;
      const std::size_t samples = frames.src[f].row_samples();
      T* const dst = frames.dst[f].row(y);
      const T* const src = frames.src[f].row(y);
      if constexpr (std::same_as<T, float>)
        kernels::add_level(dst, src, samples, static_cast<float>(draw.intensity * share));
      else  // a whole sample plus v, rounded, is the sample plus v rounded
        kernels::add_level(dst, src, samples,
                           static_cast<int>(std::floor(255 * draw.intensity * share + 0.5)));
    }
}

}  // namespace

TransformSpec linear_illumination_spec() {
  using P = LinearIlluminationParams;
  using D = LinearIlluminationDraw;
  return make_transform(Definition<P, D>{
      .name = "LinearIllumination",
      .doc = "Adds intensity * y / (height - 1), a share of the largest sample, and saturates; the "
             "size of intensity is drawn from `gain`, its sign is even odds.",
      .parity = Parity::pointwise,
      .params = {range("gain", &P::gain, 0, 1, "share of the largest sample")},
      .draw = {field("intensity", &D::intensity, -1, 1, "at the bottom")},
      .sample = sample,
      .fast_u8 = linear_illumination_fast<std::uint8_t>,
      .fast_f32 = linear_illumination_fast<float>,
      .reference_u8 = linear_illumination_reference<std::uint8_t>,
      .reference_f32 = linear_illumination_reference<float>,
      .u8 = {.max = 1, .reason = "double precision at a half: the sum is rounded, or its addend"},
      .f32 = {.max = 1e-6, .reason = "single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
