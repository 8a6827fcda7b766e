// sluice/scenario/loader/recipe_input.h - the samples of a DataLoader row: files, or what all
// workers share in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"
#include "sluice/loader/data/dataset.h"
#include "sluice/measure/worker/subject.h"
#include "sluice/scenario/loader/recipe_spec.h"
#include "sluice/scenario/micro/micro.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::scenario {

struct RecipeInput {
  std::shared_ptr<const loader::Dataset> dataset;
  std::shared_ptr<const MicroInputs> pixels;  // null: the samples of `dataset` are encoded

  /// For the recipe: pixels by index and frame, null where samples are encoded.
  [[nodiscard]] std::function<image::ImageView<std::uint8_t>(std::uint64_t, int)> decoded() const;
  /// The whole image of a sample in the channels of `spec`, or the frames of a clip, by the plain
  /// way.
  Result<std::vector<image::Image>> whole(std::uint64_t index, const RecipeSpec& spec,
                                          storage::ReadBuffer& buffer) const;
};

/// What was opened last is kept: all cases of a session work on the same.
class RecipeInputs {
 public:
  Result<RecipeInput> open(const RecipeSpec& spec, const measure::SubjectContext& context);

 private:
  std::string key_;
  RecipeInput input_;
};

}  // namespace sluice::scenario
