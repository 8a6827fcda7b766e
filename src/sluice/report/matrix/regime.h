// sluice/report/matrix/regime.h - what the numbers of one matrix table have in common.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::report {

/// Rows that differ in any of this never stand in one table.
struct Regime {
  std::string scenario;         // "image-rgb"
  std::string mode;             // "micro", "pipeline", "decode"
  std::string device;           // "none" is the CPU
  std::string scope;            // of the DataLoader; empty in the other modes
  std::int64_t batch_size = 0;  // of the DataLoader; 0 in the other modes
  std::int64_t workers = 0;     // of the DataLoader; 0 in the other modes
  std::string thread_policy;
  std::string machine_profile;

  bool operator==(const Regime&) const = default;
};

/// A file of `sluice run`: its configuration names a scenario and a mode.
bool is_matrix(const results::ResultFile& file);
/// Precondition: is_matrix(file).
Regime regime_of(const results::ResultFile& file);

/// One of the regimes that tables are published for; anything else is an exploration.
bool is_main(const Regime& regime);
/// Tables in the order of reading: main before exploratory, DataLoader before decode before micro.
int reading_order(const Regime& regime);
/// "DataLoader: image-rgb on the CPU, memory scope, batch 256, 8 workers"; plain text.
std::string heading(const Regime& regime);

/// Seconds per item from which a row of this file is stopped early.
double slow_item_s(const results::ResultFile& file);
/// "≤20 img/s": all that is known of a row that was stopped early.
std::string slow_marker(const results::ResultFile& file, const std::string& unit);

/// The transforms that the configuration names, as it names them; empty: it names none.
std::vector<std::string> configured_transforms(const results::ResultFile& file);

}  // namespace sluice::report
