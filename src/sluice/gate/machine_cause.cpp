// sluice/gate/machine_cause.cpp - the two ways in which a machine explains a slow run.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/machine_cause.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice::gate {
namespace {

bool is_noisy(const Json& noise) {
  return noise.is_object() && noise.value("verdict", "") == "noisy";
}

/// How far the second best run is behind the best; nothing with one run.
std::optional<double> disagreement(const Json& medians) {
  std::vector<double> values;
  if (medians.is_array()) {
    for (const Json& value : medians)
      if (value.is_number()) values.push_back(value.get<double>());
  }
  if (values.size() < 2) return std::nullopt;
  std::partial_sort(values.begin(), values.begin() + 2, values.end());
  return values[0] > 0 ? std::optional(values[1] / values[0] - 1) : std::nullopt;
}

/// How much slower the canary is than in the baseline, in per cent; nothing if not comparable.
std::optional<double> canary_loss_pct(const MachineFacts& facts) {
  if (!facts.canary || !facts.baseline_canary) return std::nullopt;
  if (facts.canary->version != facts.baseline_canary->version) return std::nullopt;
  return 100 * -std::expm1(facts.canary->log_speed() - facts.baseline_canary->log_speed());
}

bool is_speed(const GateLine& line) {
  return line.metric == "tokens_per_sec_p50" || line.metric.starts_with("step_time_");
}

}  // namespace

std::string noise_text(const Json& noise) {
  if (!noise.is_object() || !noise.contains("findings")) return "";
  std::vector<std::string> parts;
  for (const Json& finding : noise["findings"]) {
    if (finding.value("severity", "info") != "info")
      parts.push_back(printable(finding.value("value", "")));
  }
  return join(parts, "; ");
}

std::optional<std::string> machine_cause(const GateLine& line, double tolerance_pct,
                                         const MachineFacts& facts) {
  if (!is_speed(line) || !line.delta) return std::nullopt;
  const std::string findings = noise_text(facts.noise);
  const std::string also = findings.empty() ? "" : "; noise check: " + findings;
  const double harm = std::abs(*line.delta);
  if (const auto loss = canary_loss_pct(facts); loss && *loss > 0 && harm - *loss <= tolerance_pct)
    return fmt::format(
        "the canary, which never changes, is {:.1f} % slower than with the baseline: "
        "the machine is slower, and that explains it{}",
        *loss, also);
  const auto apart = disagreement(facts.run_medians);
  if (is_noisy(facts.noise) && apart && *apart > kRunsAgree && harm - tolerance_pct <= 100 * *apart)
    return fmt::format(
        "the machine is noisy ({}), and the two best runs are {:.1f} % apart, more "
        "than this is over the tolerance",
        findings.empty() ? "no single cause" : findings, 100 * *apart);
  return std::nullopt;
}

void excuse(GateReport& report, const std::map<std::string, double>& tolerance_pct,
            const MachineFacts& facts) {
  for (GateLine& line : report.lines) {
    const auto tolerance = tolerance_pct.find(line.metric);
    if (line.status != GateStatus::fail || tolerance == tolerance_pct.end()) continue;
    if (auto cause = machine_cause(line, tolerance->second, facts)) {
      line.status = GateStatus::invalid;
      line.reason += "; " + *cause;
    }
  }
  report.status = overall(report.lines);
  report.summary = summary_of(report);
}

}  // namespace sluice::gate
