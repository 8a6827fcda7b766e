// sluice/gate/gate_report.h - what any gate says: one line per metric, one outcome, and how it
// ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/record.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

/// Of one line and of the whole. A stored baseline gives pass, warn, fail, skip; pairs give
/// improved, pass, fail, inconclusive; invalid is a measurement that says nothing (noise,
/// failures).
enum class GateStatus { pass, improved, warn, inconclusive, skip, fail, invalid };
const char* to_string(GateStatus status);  // "PASS", "IMPROVED", ...

/// What a line is about: the rules that weigh lines against each other ask this, never its name.
enum class LineKind {
  best_run,    // speed of the run with the best median
  usual_step,  // speed that most runs reach
  tail,        // slow steps of the best run
  fence,       // speed beside all visits stored before
  pairs,       // speed beside another program, run in turns
  memory,
  quality,  // of the model: perplexity, probes, loss
  note,     // says something, compares nothing
};
const char* to_string(LineKind kind);  // "best run", ...

/// One metric beside its baseline. Absent values are not known; `reason` then says why.
struct GateLine {
  std::string metric;  // such as tokens_per_sec_p50, probe/code_sanity_20, or a case
  std::string unit;    // of baseline and current; may be empty
  std::optional<double> baseline;
  std::optional<double> current;
  std::optional<double> delta;  // in `delta_unit`, signed, current against baseline
  std::string delta_unit;       // "%", "points", or empty for a plain difference
  std::string threshold;        // in words: "at most 5 % less"
  LineKind kind = LineKind::note;
  measure::Better better = measure::Better::lower;
  std::optional<double> tolerance_pct;  // change for the worse that passes; absent: another rule
  GateStatus status = GateStatus::skip;
  bool blocking = true;  // false: never more than a warning
  std::string reason;    // one sentence, never empty
  Json details;  // what the rule adds: interval, p values, MDE, needed pairs, fence; may be null

  [[nodiscard]] bool is_speed() const { return kind <= LineKind::pairs; }
  /// Speed against numbers that were stored, not taken beside.
  [[nodiscard]] bool is_stored_speed() const {
    return is_speed() && kind != LineKind::tail && kind != LineKind::pairs;
  }
  /// How many times longer the current side takes; nothing without two values above 0.
  [[nodiscard]] std::optional<double> times_longer() const;
};

struct GateReport {
  std::string rule;  // "stored baseline", "pairs", "fence"
  std::string machine_profile;
  std::string timestamp;  // UTC, 2026-11-16T02:00:00Z
  std::string base_name;  // a file, a revision or a command
  std::string candidate_name;
  std::vector<GateLine> lines;
  GateStatus status = GateStatus::skip;
  std::string summary;    // "FAIL (1 failure, 0 warnings)"
  std::string reproduce;  // the command line that measures it again; may be empty
};

/// The whole from its lines: the worst of fail, invalid, inconclusive, warn; improved if a line is
/// and none is worse than pass; skip without a judged line.
GateStatus overall(const std::vector<GateLine>& lines);

/// "FAIL (1 failure, 2 warnings)".
std::string summary_of(const GateReport& report);

Json to_json(const GateReport& report);
Result<GateReport> gate_report_from_json(const Json& json);

}  // namespace sluice::gate
