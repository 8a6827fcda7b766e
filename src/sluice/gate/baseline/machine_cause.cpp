// sluice/gate/baseline/machine_cause.cpp - how much of a slowdown the machine explains.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/machine_cause.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

/// A share of time, from 0 to below 1; nothing for anything else.
std::optional<double> valid_share(const std::optional<double>& share) {
  return share && *share >= 0 && *share < 1 ? share : std::nullopt;
}

std::optional<double> waited_of(const RunFiles& run) {
  return run.metrics ? valid_share(run.metrics->timing.waited_share.value) : std::nullopt;
}

bool on_gpu(const RunFiles& run) {
  return run.metrics && run.metrics->config.device.starts_with("cuda");
}

/// How many times longer everything took, for reasons that are named.
struct Explained {
  double factor = 1;
  std::vector<std::string> causes;

  void add(double times, std::string cause) {
    if (times < 1 / (1 - kLeastCause)) return;
    factor *= times;
    causes.push_back(std::move(cause));
  }
};

Explained explained_by(const MachineFacts& facts) {
  Explained all;
  if (const auto loss = canary_loss(facts.canary, facts.baseline_canary); loss && *loss < 1)
    all.add(1 / (1 - *loss),
            fmt::format("the canary, which never changes, is {:.1f} % slower than with the "
                        "baseline",
                        100 * *loss));
  if (facts.waited) {
    const double before = facts.baseline_waited.value_or(0);
    all.add((1 - before) / (1 - *facts.waited),
            fmt::format("the steps waited for a core {:.1f} % of the time, {:.1f} % with the "
                        "baseline",
                        100 * *facts.waited, 100 * before));
  }
  if (const auto steal = facts.noise ? valid_share(facts.noise->steal) : std::nullopt)
    all.add(1 / (1 - *steal),
            fmt::format("the hypervisor kept {:.1f} % of the cores' time", 100 * *steal));
  return all;
}

}  // namespace

MachineFacts machine_facts(const RunFiles& current, const RunFiles& baseline) {
  MachineFacts facts;
  if (!on_gpu(current)) {
    facts.canary = visit_of(current).canary;
    facts.baseline_canary = visit_of(baseline).canary;
  }
  facts.waited = waited_of(current);
  facts.baseline_waited = waited_of(baseline);
  if (current.metrics) facts.noise = current.metrics->noise;
  return facts;
}

bool is_noisy(const std::optional<results::NoiseSummary>& noise) {
  return noise && noise->verdict == "noisy";
}

std::string noise_text(const std::optional<results::NoiseSummary>& noise) {
  std::vector<std::string> parts;
  if (!noise) return "";
  for (const results::NoiseSummary::Finding& finding : noise->findings)
    if (finding.severity != "info" && !finding.severity.empty())
      parts.push_back(printable(finding.value));
  return join(parts, "; ");
}

std::optional<double> canary_loss(const std::optional<CanarySpeed>& now,
                                  const std::optional<CanarySpeed>& before) {
  if (!now || !before || now->version != before->version) return std::nullopt;
  std::vector<double> ratios;
  for (const auto& [part, speed] : now->parts)
    if (const auto other = before->parts.find(part); other != before->parts.end())
      ratios.push_back(speed / other->second);
  if (ratios.empty()) return std::nullopt;
  std::sort(ratios.begin(), ratios.end());
  const std::size_t half = ratios.size() / 2;  // of an even number the faster: it excuses less
  return 1 - ratios[half];
}

std::optional<MachineCause> machine_cause(const GateLine& line, const MachineFacts& facts) {
  const std::optional<double> times = line.times_longer();
  if (!line.is_speed() || !line.tolerance_pct || !times) return std::nullopt;
  const Explained machine = explained_by(facts);
  if (machine.causes.empty()) return std::nullopt;
  const double left = *times / machine.factor;  // what the code alone would have taken, in times
  const bool rate = line.better == measure::Better::higher;
  const double left_pct = rate ? 100 * (1 - 1 / left) : 100 * (left - 1);
  const std::string causes = join(machine.causes, "; ");
  if (left_pct <= *line.tolerance_pct + kToleranceEpsilon)
    return MachineCause{true, causes + ": the machine explains it"};
  return MachineCause{
      false, fmt::format("{}: that leaves {:.1f} %, over the tolerance", causes, left_pct)};
}

std::optional<GateLine> baseline_waited_line(const MachineFacts& facts) {
  if (facts.baseline_waited.value_or(0) <= kCalmWait) return std::nullopt;
  GateLine line;
  line.metric = "baseline";
  line.status = GateStatus::warn;
  line.blocking = false;
  line.reason = fmt::format(
      "the stored run waited for a core {:.1f} % of the time: slowdowns up to {:.0f} % can hide "
      "behind that; promote a run from a quiet machine",
      100 * *facts.baseline_waited, 100 / (1 - *facts.baseline_waited) - 100);
  return line;
}

std::optional<GateLine> noise_line(const MachineFacts& facts) {
  if (!is_noisy(facts.noise)) return std::nullopt;
  GateLine line;
  line.metric = "machine";
  line.reason = "noisy after the measurement (" + noise_text(facts.noise) +
                "): numbers may be worse than the code";
  return line;
}

}  // namespace sluice::gate
