// sluice/gate/baseline/machine_cause.h - was it the machine? What turns a slow measurement into one
// that says nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/history.h"
#include "sluice/gate/gate_report.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

/// A canary or a wait explains nothing below this: that much is their own noise.
inline constexpr double kLeastCause = 0.02;
/// A baseline that waited for cores longer than this share of its time hides slowdowns.
inline constexpr double kCalmWait = 0.05;

/// What was seen beside the numbers; whatever is not known explains nothing. The canary runs on
/// cores: of a step on a GPU it is not known.
struct MachineFacts {
  std::optional<CanarySpeed> canary, baseline_canary;
  /// Share of the steps in which threads wanted a core and had none.
  std::optional<double> waited, baseline_waited;
  std::optional<results::NoiseSummary> noise;  // absent: not checked
};
MachineFacts machine_facts(const RunFiles& current, const RunFiles& baseline);

/// Whether a noise check held something against the machine.
[[nodiscard]] bool is_noisy(const std::optional<results::NoiseSummary>& noise);
/// "steal 4.1 %; ..." of what it held against it; empty: nothing.
std::string noise_text(const std::optional<results::NoiseSummary>& noise);

/// How much slower the canary is than before, as a share: the middle of its parts, so that one busy
/// part (memory, say) does not speak for all. Below 0: faster. Nothing if not comparable.
std::optional<double> canary_loss(const std::optional<CanarySpeed>& now,
                                  const std::optional<CanarySpeed>& before);

/// What the machine has to do with a line of speed that fails.
struct MachineCause {
  bool explains = false;  // without it the line would be within its tolerance
  std::string text;       // how, or what is left
};
/// A slower canary, a longer wait for cores and stolen time each explain a share of the change, by
/// their size. Where what is left is within the tolerance of the line, it says nothing about the
/// code. Anything larger stands. Nothing: no cause, or no line of speed with a tolerance.
std::optional<MachineCause> machine_cause(const GateLine& line, const MachineFacts& facts);

/// A warning of a baseline that waited for cores: slowdowns hide behind it. Nothing: it did not.
std::optional<GateLine> baseline_waited_line(const MachineFacts& facts);
/// A noisy machine is said beside whatever verdict comes of it. Nothing: it was quiet.
std::optional<GateLine> noise_line(const MachineFacts& facts);

}  // namespace sluice::gate
