// sluice/env/noise_json.cpp - the noise report as JSON.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/noise.h"

namespace sluice::env {

Json to_json(const NoiseReport& report) {
  Json facts = Json::object();
  Json unknown = Json::object();
  const auto put = [&](const char* key, const auto& fact) {
    facts[key] = fact ? Json(*fact) : Json(nullptr);
    if (!fact) unknown[key] = fact.reason;
  };
  const NoiseFacts& f = report.facts;
  facts["duration_s"] = f.duration_s;
  put("timer_resolution_ns", f.timer_resolution_ns);
  put("loop_p50_ns", f.loop_p50_ns);
  put("loop_p99_over_p50", f.loop_p99_over_p50);
  put("loop_max_over_p50", f.loop_max_over_p50);
  put("preempted", f.preempted);
  put("steal", f.steal);
  put("others", f.others);
  put("runnable_others", f.runnable_others);
  put("load_1min", f.load_1min);
  put("governor", f.governor);
  put("max_over_min_frequency", f.max_over_min_frequency);
  put("turbo", f.turbo);
  put("swapped_pages", f.swapped_pages);
  put("thermal_throttles", f.thermal_throttles);
  put("cgroup_throttles", f.cgroup_throttles);

  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back(Json{{"check", finding.check},
                            {"severity", to_string(finding.severity)},
                            {"points", finding.points},
                            {"value", finding.value},
                            {"advice", finding.advice}});
  }
  return Json{{"score", report.score},
              {"verdict", to_string(report.verdict)},
              {"findings", std::move(findings)},
              {"facts", std::move(facts)},
              {"unknown", std::move(unknown)}};
}

}  // namespace sluice::env
