// sluice/scenario/loader/recipe_spec.h - what `prepare` says about a DataLoader row of the matrix.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/worker/subject.h"

#include <cstdint>
#include <string>

namespace sluice::scenario {

struct RecipeSpec {
  std::string transform;
  Json params;       // of the transform; an object
  int channels = 3;  // 3 or 9
  int frames = 0;    // of a clip; 0: samples are images
  bool decodes = true;
  std::string copy_to;  // "cuda": every batch is copied there; empty: none is
  std::uint32_t batch_size = 32;
  int workers = 0;
  std::int64_t min_time_ns = 0;  // of all samples together
  std::int64_t min_batches = 1;
  std::uint64_t seed = 0;
};

/// Another recipe than [RandomCrop224,] transform, Normalize, ToTensor is `unsupported`; values out
/// of range are usage errors.
Result<RecipeSpec> read_recipe_spec(const measure::SubjectContext& context);

}  // namespace sluice::scenario
