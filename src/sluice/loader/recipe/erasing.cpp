// sluice/loader/recipe/erasing.cpp - draw, and fill the place of a sample.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/erasing.h"

#include "sluice/loader/recipe/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::loader {
namespace {

constexpr std::uint32_t kErasingStage = 1;  // RngKey::stage: crop and augment have 0

}  // namespace

Status check(const ErasingOptions& options) {
  if (options.probability >= 0 && options.probability <= 1) return ok;
  return Error{Errc::usage,
               fmt::format("erasing with probability {}; accepted: 0 to 1", options.probability)};
}

image::Rect draw_erasing(const ErasingOptions& options, const SampleKey& key, int side) {
  if (options.probability <= 0) return {};
  RngKey rng_key;
  rng_key.seed = key.seed;
  rng_key.epoch = key.epoch;
  rng_key.index = key.index;
  rng_key.stage = kErasingStage;
  Rng rng(rng_key);
  if (rng.uniform() >= options.probability) return {};
  return aug::sample_erasing(options.ranges, rng, side, side);
}

std::array<std::uint8_t, 3> mean_levels(const image::Normalization& normalization) {
  std::array<std::uint8_t, 3> levels{};
  for (std::size_t c = 0; c < levels.size(); ++c) {
    const float mean = -normalization.offset[c] / normalization.scale[c];
    levels[c] = static_cast<std::uint8_t>(std::lround(std::clamp(mean, 0.0F, 255.0F)));
  }
  return levels;
}

Eraser::Eraser(const ErasingOptions& options, const OutputSpec& spec,
               const image::Normalization& normalization)
    : options_(options), spec_(spec) {
  if (options.probability <= 0) return;
  levels_ = mean_levels(normalization);
  const std::vector<float> normalized = normalized_levels(normalization);
  for (std::size_t c = 0; c < levels_.size(); ++c) {
    values_[c] = normalized[c * 256 + levels_[c]];
    halves_[c] = spec.type == BatchType::f16 ? to_f16(values_[c]) : to_bf16(values_[c]);
  }
}

template <class T>
void Eraser::fill(std::span<std::byte> out, const image::Rect& box,
                  const std::array<T, 3>& values) const {
  T* const place = reinterpret_cast<T*>(out.data());
  const auto width = static_cast<std::size_t>(spec_.width);
  const std::size_t plane = width * static_cast<std::size_t>(spec_.height);
  for (int y = box.y; y < box.y + box.height; ++y) {
    const std::size_t first = static_cast<std::size_t>(y) * width + static_cast<std::size_t>(box.x);
    const auto count = static_cast<std::size_t>(box.width);
    if (spec_.layout == Layout::chw)
      for (std::size_t c = 0; c < values.size(); ++c)
        std::fill_n(place + c * plane + first, count, values[c]);
    else
      for (std::size_t i = 0; i < count * values.size(); ++i)
        place[first * values.size() + i] = values[i % values.size()];
  }
}

void Eraser::run(std::span<std::byte> out, const SampleKey& key) const {
  const image::Rect box = draw_erasing(options_, key, spec_.width);
  if (box.width == 0) return;
  switch (spec_.type) {
    case BatchType::u8:
      return fill(out, box, levels_);
    case BatchType::f32:
      return fill(out, box, values_);
    case BatchType::bf16:
    case BatchType::f16:
      return fill(out, box, halves_);
    case BatchType::i32:
      return;  // no pixels
  }
}

}  // namespace sluice::loader
