// tests/gate/compare_fuzz.cpp - no result file crashes the judges; what is compared adds up.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/validate.h"
#include "sluice/gate/compare/compare.h"
#include "sluice/gate/decide.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace gate = sluice::gate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = sluice::parse_json(text, "fuzz");
  if (!json) return 0;
  const auto file = sluice::results::from_json(*json, "fuzz");
  if (!file) return 0;
  for (const std::string& issue : sluice::analysis::validate(*file, "fuzz").issues)
    if (issue.find('\n') != std::string::npos) std::abort();
  sluice::results::ResultFile fewer = *file;
  if (!fewer.rows.empty()) fewer.rows.pop_back();
  const sluice::results::ResultFile* const candidates[] = {&*file, &fewer};
  for (const sluice::results::ResultFile* candidate : candidates) {
    const auto compared = gate::compare(*file, *candidate);
    if (!compared) return 0;
    const gate::Counts& counts = compared->counts;
    const int all = counts.fail + counts.improved + counts.pass + counts.inconclusive +
                    counts.invalid + counts.skip;
    if (all != static_cast<int>(compared->rows.size())) std::abort();
    if (counts.missing > counts.fail) std::abort();
    if (candidate == &*file && counts.missing != 0) std::abort();
    if (!sluice::parse_json(gate::to_json(*compared).dump(), "comparison")) std::abort();
  }
  if (!file->training) return 0;
  const gate::RunFiles run{"fuzz", file->training, {}};
  const gate::Decision decision = gate::decide({run, {run, {}}}, {});
  if (decision.report.lines.empty()) std::abort();
  return 0;
}
