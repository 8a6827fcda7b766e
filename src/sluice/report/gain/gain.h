// sluice/report/gain/gain.h - runs beside the baseline they are to better: how many times as fast,
// how much less memory, and what was changed for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/report/facts.h"
#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::report {

/// Files of `bench dataloader` and `bench training`; null where none was given.
struct GainRuns {
  const results::ResultFile* baseline_loader = nullptr;
  const results::ResultFile* baseline_training = nullptr;
  const results::ResultFile* loader = nullptr;
  const results::ResultFile* training = nullptr;
};

/// By what they hold; points into the lists. Refused (usage): two of a kind on one side, a file of
/// another kind, and sides that have no kind in common.
Result<GainRuns> gain_runs(const std::vector<results::ResultFile>& baseline,
                           const std::vector<results::ResultFile>& runs);

// What the pages are made of: plain text, not yet escaped.

/// A figure on both sides.
struct GainLine {
  std::string name, baseline, run;
  std::string change;  // "2.31× (2.20 to 2.42)", "34 % less"; or "n/a" and why
};
/// A value of the configuration on both sides; "–" where one has none.
struct GainSetting {
  std::string kind;  // "loader", "training"
  std::string name, baseline, run;
  [[nodiscard]] bool differs() const { return baseline != run; }
};
struct GainOptimisation {
  std::string name;
  bool in_baseline = false, in_run = false;
};
/// A run by its name, "baseline, training".
struct GainPart {
  std::string name;
  const results::ResultFile* file = nullptr;
};
struct GainReport {
  std::string headline;
  std::vector<std::string> remarks;  // why the sides may not be comparable
  std::vector<GainLine> lines;
  std::vector<GainOptimisation> optimisations;
  std::vector<GainSetting> settings;
  std::vector<GainPart> parts;  // baseline first
};
GainReport gain_report(const GainRuns& runs);

std::string gain_markdown(const GainReport& report);
/// One self-contained page, for screens and for paper.
std::string gain_html(const GainReport& report);

}  // namespace sluice::report
