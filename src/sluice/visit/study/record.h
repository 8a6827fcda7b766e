// sluice/visit/study/record.h - study.json: what a study is, and every run that was finished, of
// any machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/report/mixture/study_text.h"
#include "sluice/visit/study/file.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::visit {

inline constexpr const char* kStudyRecord = "study.json";
inline constexpr const char* kStudyLog = "run_log.md";
inline constexpr const char* kStudyAdvice = "recommendation.md";

struct StudyRecord {
  Json study;  // of study_json(): what must agree for runs to be added
  std::map<std::string, std::vector<std::string>> remarks;  // by machine
  std::vector<analysis::MixtureStudyRun> runs;
  std::vector<analysis::MixtureTrainedRun> trained{};  // of --then-train, best setting first
};

/// What a study says, without how often; two that differ here do not share a folder.
Json study_json(const StudyFile& study);

Json to_json(const StudyRecord& record);
/// An error names the file and the run that is wrong.
Result<StudyRecord> read_study_record(const std::filesystem::path& path);

/// This run is there, of this machine (analysis::machine_of), and did not fail.
bool is_finished(const StudyRecord& record, const std::string& machine, const StudyCase& one,
                 int repeat);

/// What pages say of a study; remarks and the number of runs are still to be filled in.
report::StudyFacts facts_of(const StudyFile& study);

/// study.json, run_log.md and recommendation.md into `folder`.
Status write_study(const std::filesystem::path& folder, const StudyRecord& record,
                   const report::StudyFacts& facts);

}  // namespace sluice::visit
