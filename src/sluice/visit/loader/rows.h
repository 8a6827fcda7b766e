// sluice/visit/loader/rows.h - the rows of `sluice bench dataloader`: ours, sweeps, peers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/peers/places.h"
#include "sluice/visit/loader/run.h"

#include <map>

namespace sluice::visit {

/// What the rows of a run have in common.
struct RowMaker {
  const DataloaderPlan& plan;
  const InputFacts& input;
  std::vector<std::string> worker;  // argv of ours
  std::uint64_t seed = 0;

  /// One of our rows: `over` replaces fields of the spec, `axes` become parts of the case.
  [[nodiscard]] measure::SubjectSpec ours(const std::string& case_name, const Json& over,
                                          const std::map<std::string, std::string>& axes) const;
  [[nodiscard]] std::vector<measure::SubjectSpec> swept() const;
};

/// The case that a library's row belongs to: plain bilinear or antialiased.
/// Of a folder of videos.
inline constexpr const char* kClipCase = "loader/clip16-antialias";
std::string case_of_library(const std::string& library);

/// Our row of a case, where it has a summary.
const measure::Row* find_row(const results::ResultFile& file, const std::string& case_name);
/// Samples per second; 0 without a row.
double mean_of(const measure::Row* row);

}  // namespace sluice::visit
