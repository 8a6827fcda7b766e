// sluice/loader/recipe/photo_steps.cpp - resize and place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/recipe/photo_steps.h"

#include <fmt/format.h>

namespace sluice::loader {
namespace {

constexpr int kMostSide = 4096;

}  // namespace

image::Bytes as_image_bytes(std::span<const std::byte> encoded) {
  return {reinterpret_cast<const std::uint8_t*>(encoded.data()), encoded.size()};
}

Status check_side(const char* name, int value) {
  if (value >= 1 && value <= kMostSide) return ok;
  return Error{Errc::usage, fmt::format("{} is {}; accepted: 1 to {}", name, value, kMostSide)};
}

Status PhotoScratch::resize(image::ImageSpan<std::uint8_t> dst, Filter filter) {
  if (filter == Filter::antialias) return antialias.run(dst, decoded.view<std::uint8_t>());
  if (filter == Filter::bicubic) return bicubic.run(dst, decoded.view<std::uint8_t>());
  return plain.run(dst, decoded.view<std::uint8_t>());
}

Status PhotoScratch::resize_and_place(std::span<std::byte> out, const OutputSpec& spec,
                                      Filter filter, const image::Normalization& normalization,
                                      bool mirrored, StageClock& clock) {
  clock.enter(Stage::augment);
  if (spec.type == BatchType::u8 && spec.layout == Layout::hwc && !mirrored) {
    const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(out.data()), out.size());
    SLUICE_TRY(const auto dst,
               image::ImageSpan<std::uint8_t>::make(bytes, spec.width, spec.height, 3));
    return resize(dst, filter);  // its place is where it is made
  }
  SLUICE_CHECK(resized.resize_for(spec.width, spec.height, 3));
  SLUICE_CHECK(resize(resized.span<std::uint8_t>(), filter));
  clock.enter(Stage::collate);
  return loader::place(out, spec, resized.view<std::uint8_t>(), normalization, mirrored,
                       this->place);
}

}  // namespace sluice::loader
