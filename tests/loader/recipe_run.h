// tests/loader/recipe_run.h - a recipe run once, by hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/loader/accounting.h"
#include "sluice/loader/recipe/recipe.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::loader::testing {

/// What it makes of one sample, in memory that was poisoned before.
inline Result<std::vector<std::byte>> run_once(const Recipe& recipe,
                                               const std::vector<std::uint8_t>& encoded,
                                               const SampleKey& key) {
  SystemClock system;
  WorkerCounters counters;
  StageClock clock(system, counters);
  const auto scratch = recipe.make_scratch();
  RecipeContext context{*scratch, clock};
  std::vector<std::byte> out(recipe.output().bytes(), std::byte{0xA5});
  SLUICE_CHECK(recipe.run(out, std::as_bytes(std::span(encoded)), key, context));
  return out;
}

}  // namespace sluice::loader::testing
