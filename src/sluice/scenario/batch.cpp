// sluice/scenario/batch.cpp - memory of a batch and the check of its content.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/batch.h"

#include "sluice/image/normalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice::scenario {

Result<PlanarBatch> PlanarBatch::make(std::size_t count, int side) {
  const std::size_t floats =
      std::size_t{3} * static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  SLUICE_TRY(auto memory, image::Image::make(static_cast<int>(floats), static_cast<int>(count), 1,
                                             image::DType::f32));
  return PlanarBatch(std::move(memory), floats);
}

std::span<float> PlanarBatch::item(std::size_t index) {
  return {memory_.span<float>().row(static_cast<int>(index)), item_floats_};
}

std::span<const float> PlanarBatch::all() {
  return {memory_.span<float>().data(), memory_.span<float>().samples()};
}

Status check_normalised(std::span<const float> got, image::ImageView<std::uint8_t> pixels,
                        std::size_t index, float tolerance) {
  std::vector<float> want(pixels.samples());
  SLUICE_CHECK(image::normalize_chw_reference(want, pixels, image::Normalization::imagenet()));
  for (std::size_t k = 0; k < want.size(); ++k) {
    const float distance = std::abs(want[k] - got[k]);
    if (!(distance <= tolerance)) {
      return Error{Errc::measurement,
                   fmt::format("image {}: sample {} is {} where the reference has {}", index, k,
                               got[k], want[k])};
    }
  }
  return ok;
}

}  // namespace sluice::scenario
