// sluice/visit/training/rows.h - the rows of `sluice bench training`: our engine, and other
// libraries on the same weights and numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/training/run.h"

#include <filesystem>

namespace sluice::visit {

struct TrainingRows {
  std::vector<measure::SubjectSpec> rows;  // to be measured, interleaved
  std::vector<measure::Row> refused;       // libraries that are not there: why
};

/// What feeds a row.
struct TrainingSource {
  std::string storage;  // of several inputs: what it lies on; otherwise empty
  Json loader;          // fields of LoaderSpec; null: generated numbers
};

struct TrainingRowMaker {
  const TrainingPlan& plan;
  std::vector<TrainingSource> sources;  // at least one
  std::vector<std::string> worker;      // argv of ours

  /// All rows of one batch size. Weights and numbers for other libraries are written to `scratch`,
  /// which must live until the rows are measured.
  [[nodiscard]] Result<TrainingRows> rows(int batch, const std::filesystem::path& scratch) const;
};

}  // namespace sluice::visit
