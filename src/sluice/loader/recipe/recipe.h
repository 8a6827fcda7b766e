// sluice/loader/recipe/recipe.h - what is done to a sample: encoded bytes in, its part of the batch
// out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/accounting.h"
#include "sluice/loader/recipe/output.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sluice::loader {

/// All that a sample's random numbers may depend on.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;  // in the dataset
};

/// What one worker keeps from sample to sample: decoder, buffers. Made once per worker.
class RecipeScratch {
 public:
  virtual ~RecipeScratch() = default;
};

struct RecipeContext {
  RecipeScratch& scratch;
  StageClock& clock;                        // told when decode, augment and collate begin
  const std::atomic<bool>* stop = nullptr;  // set: give up soon, with any error
};

/// Immutable: one serves any number of workers. What run() writes depends on the bytes and the key
/// alone.
class Recipe {
 public:
  virtual ~Recipe() = default;

  [[nodiscard]] virtual OutputSpec output() const = 0;
  [[nodiscard]] virtual std::unique_ptr<RecipeScratch> make_scratch() const = 0;
  /// Fills all of `out`, output().bytes() of it, aligned to its sample type. Errors name no file;
  /// the loader knows it. invalid_input and unsupported: the sample is at fault, and OnError
  /// decides.
  virtual Status run(std::span<std::byte> out, std::span<const std::byte> encoded,
                     const SampleKey& key, RecipeContext& context) const = 0;
  /// For the result file: {"name": "train-crop", "side": 224, ...}.
  [[nodiscard]] virtual Json describe() const = 0;
};

}  // namespace sluice::loader
