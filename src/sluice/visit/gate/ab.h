// sluice/visit/gate/ab.h - two commands measured in pairs: fresh processes, random order, values,
// one verdict.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/gate/pairs/paired_background.h"
#include "sluice/gate/pairs/paired_gate.h"
#include "sluice/gate/pairs/paired_report.h"
#include "sluice/gate/pairs/paired_row.h"
#include "sluice/peers/timed_command.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

inline constexpr const char* kWallMetric = "wall";
inline constexpr const char* kCpuMetric = "cpu";
inline constexpr const char* kStdoutMetric = "stdout";

struct AbSide {
  std::string name;     // "A" or "B", or with a revision: what errors call it
  std::string command;  // for /bin/sh; `{out}` becomes an empty folder, also in SLUICE_AB_OUT
  std::filesystem::path folder{};  // to run in; empty: the current one
  std::map<std::string, std::optional<std::string>> environment{};
};

struct AbMetric {
  std::string name;  // kWallMetric, kCpuMetric, kStdoutMetric, or a row of the result file
  bool blocking = true;
};

struct AbPlan {
  AbSide a;
  AbSide b;
  std::vector<AbMetric> metrics;
  measure::Better stdout_better = measure::Better::lower;
  bool tau_given = false;  // else each metric has its default
  gate::PairedOptions gate;
  double timeout_s = 600;  // of one run
  std::uint64_t seed = 0;  // of the order within pairs
};

struct AbContext {
  Progress* progress = nullptr;
  int cancel_fd = -1;
};

/// Runs both commands, one pair after the other.
class CommandPairs {
 public:
  CommandPairs(const AbPlan& plan, const AbContext& context, std::filesystem::path scratch)
      : plan_(plan), context_(context), scratch_(std::move(scratch)) {}

  /// Each command once, not counted: caches warm, and what is wrong with one is said before an hour
  /// of measuring. Gives the metrics with unit and sense.
  Result<std::vector<gate::PairedMetric>> prepare();
  /// Seconds that one pair took when it was prepared.
  [[nodiscard]] double pair_s() const { return pair_s_; }
  /// Pair `index`, in an order drawn from seed and index.
  Result<std::vector<gate::PairValue>> take(int index);
  /// CPU time of the pair taken last.
  [[nodiscard]] const gate::PairCpu& last_cpu() const { return last_cpu_; }
  /// "ab" or "ba" per pair taken.
  [[nodiscard]] const std::vector<std::string>& orders() const { return orders_; }

 private:
  struct Value {
    double value = 0;
    std::string unit;
    measure::Better better = measure::Better::lower;
  };
  Result<std::vector<Value>> run(const AbSide& side, std::uint64_t padding, gate::CpuTime& cpu);
  Result<Value> printed_value(const AbSide& side, const peers::CommandRun& done) const;

  const AbPlan& plan_;
  AbContext context_;
  std::filesystem::path scratch_;
  double pair_s_ = 0;
  gate::PairCpu last_cpu_;
  int runs_ = 0;
  gate::FreshResults fresh_;
  std::vector<std::string> orders_;
};

struct AbResult {
  gate::GateReport report;
  gate::PairedBackground background;
  Json document;  // the report with design, commands and every pair
};

/// Errors of a command as peers/timed_command.h; a number or row that is not there is
/// Errc::invalid_input or not_found.
Result<AbResult> run_ab(const AbPlan& plan, const AbContext& context);

}  // namespace sluice::visit
