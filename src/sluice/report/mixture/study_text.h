// sluice/report/mixture/study_text.h - a study of a mixture for people: run log and recommendation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/mixture/study.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::report {

/// What a study's pages say beside its runs.
struct StudyFacts {
  std::string name;
  std::string preset;
  int batch_size = 64;
  analysis::MixtureKnobs base;
  int repeats = 1;
  std::optional<double> target_samples_per_s{};  // of the study that this one follows
  /// By machine: CPU axis clipped, settings that became the same, ...
  std::map<std::string, std::vector<std::string>> remarks{};
  std::size_t planned = 0;  // runs; more than there are: interrupted
};

/// The remarks of a machine as a list; empty: none.
std::string study_remarks(const StudyFacts& facts, const std::string& machine);

/// run_log.md: every run with all its columns, then every setting with its interval.
std::string study_run_log(const StudyFacts& facts,
                          const std::vector<analysis::MixtureStudyRun>& runs,
                          const std::vector<analysis::StudyVerdict>& verdicts);

/// recommendation.md: what the intervals support, and what they do not.
std::string study_recommendation(const StudyFacts& facts,
                                 const std::vector<analysis::StudyVerdict>& verdicts,
                                 const analysis::StudyRule& rule = {});

/// The section of settings that were trained with; empty: none was.
std::string study_end_to_end(const std::vector<analysis::MixtureTrainedRun>& trained);

}  // namespace sluice::report
