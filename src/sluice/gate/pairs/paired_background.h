// sluice/gate/pairs/paired_background.h - what stands beside a verdict of pairs: CPU time, why it
// is open, what it would take to decide.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/pairs/paired_gate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

struct CpuTime {
  double user_s = 0, system_s = 0;
  [[nodiscard]] double total() const { return user_s + system_s; }
};

struct PairCpu {
  CpuTime a, b;
};

struct PairedBackground {
  CpuTime a, b;                       // of one run, mean over the pairs
  std::optional<PairedEvidence> cpu;  // of CPU time; absent where a run used none
  GateStatus cpu_status = GateStatus::inconclusive;
  bool cpu_helps = false;           // wall time leaves the question open, and CPU time does not
  double pair_sd = 0;               // of the log ratio of a pair, in the first metric that is open
  double pair_s = 0;                // seconds that a pair took
  std::int64_t needed_pairs = 0;    // for the open metric that needs most; 0: none is open
  std::vector<std::string> causes;  // what was not quiet meanwhile, in words
};

/// `cpu` is of the main series, in order; `elapsed_s` that of all pairs.
PairedBackground background_of(const PairedOutcome& outcome, const GateReport& report,
                               const std::vector<PairCpu>& cpu, double elapsed_s);

Json to_json(const PairedBackground& background);

}  // namespace sluice::gate
