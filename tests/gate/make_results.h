// tests/gate/make_results.h - result files in memory, from the rate of each run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/compare/compare.h"
#include "sluice/measure/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace sluice::gate {

/// A row whose runs have these rates (items per second), each over `samples` samples of the same
/// length.
inline measure::Row row_of(const std::string& name, const std::vector<double>& rates,
                           int samples = 1) {
  measure::Row row;
  row.case_name = name;
  row.items_per_sample = 1'000'000'000;  // so that integer nanoseconds keep 9 digits of the rate
  for (const double rate : rates) {
    measure::Run run;
    run.samples_ns.assign(static_cast<std::size_t>(samples),
                          std::llround(static_cast<double>(row.items_per_sample) * 1e9 / rate));
    row.runs.push_back(run);
  }
  return row;
}

inline measure::Row row_with(const std::string& name, measure::RowStatus status,
                             const std::string& reason) {
  measure::Row row = row_of(name, {});
  row.status = status;
  row.reason = reason;
  return row;
}

inline results::ResultFile file_of(const std::vector<measure::Row>& rows) {
  results::ResultFile file;
  file.machine_profile = "cpu-test";
  file.dataset.hash = "abc";
  file.rows = rows;
  return file;
}

/// As a run leaves it, fit to be written and sound: a session, run ids, digests, summaries.
inline results::ResultFile sound_file(const std::vector<measure::Row>& rows) {
  static int sessions = 0;
  results::ResultFile file = file_of(rows);
  file.environment = file.run_config = Json::object();
  file.session_id = "session-" + std::to_string(++sessions);
  for (measure::Row& row : file.rows) {
    int block = 0;
    for (measure::Run& run : row.runs) {
      run.block = block++;
      run.run_id = file.session_id + "/" + row.case_name + "/" + row.library + "/" +
                   std::to_string(run.block);
    }
    if (row.status != measure::RowStatus::ok) continue;
    row.output_digest = "1234";
    measure::summarise(row, 1);
  }
  return file;
}

/// One row on both sides, compared.
inline RowComparison compare_row(const measure::Row& base, const measure::Row& candidate,
                                 const CompareOptions& options = {}) {
  auto comparison = compare(file_of({base}), file_of({candidate}), options);
  if (!comparison || comparison->rows.size() != 1) {
    ADD_FAILURE() << "no comparison of one row";
    return {};
  }
  return comparison->rows[0];
}

inline RowComparison compare_rates(const std::vector<double>& base,
                                   const std::vector<double>& candidate,
                                   const CompareOptions& options = {}) {
  return compare_row(row_of("case", base), row_of("case", candidate), options);
}

}  // namespace sluice::gate
