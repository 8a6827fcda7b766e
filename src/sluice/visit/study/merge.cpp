// sluice/visit/study/merge.cpp - study.json of every repeat to one.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/study/merge.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

/// Of the node that measured last: a task that was put back may have begun on another.
std::vector<analysis::MixtureStudyRun> runs_of_last_node(const StudyRecord& part) {
  std::vector<analysis::MixtureStudyRun> runs;
  for (const analysis::MixtureStudyRun& run : part.runs)
    if (machine_of(run) == machine_of(part.runs.back())) runs.push_back(run);
  return runs;
}

}  // namespace

Result<StudyRecord> merge_study(const StudyFile& study,
                                const std::vector<std::filesystem::path>& parts,
                                const std::filesystem::path& folder) {
  StudyRecord whole;
  whole.study = study_json(study);
  for (const std::filesystem::path& path : parts) {
    SLUICE_TRY(const StudyRecord part, read_study_record(path / kStudyRecord));
    const auto wrong = [&](const std::string& what) {
      return Error{Errc::invalid_input, fmt::format("{}: {}", printable(path.string()), what)};
    };
    if (part.study != whole.study) return wrong("holds another study than that of --study");
    if (part.runs.empty()) return wrong("holds no run");
    for (analysis::MixtureStudyRun& run : runs_of_last_node(part)) {
      if (!whole.runs.empty() && run.machine != whole.runs.front().machine)
        return wrong(
            fmt::format("was measured on {}, repeats before it on {}: machines of two "
                        "kinds are never put in one table; name cluster.node_types",
                        printable(run.machine), printable(whole.runs.front().machine)));
      std::vector<std::string>& remarks = whole.remarks[run.machine];
      if (const auto of = part.remarks.find(machine_of(run)); of != part.remarks.end())
        for (const std::string& remark : of->second)
          if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end())
            remarks.push_back(remark);
      run.host.clear();
      whole.runs.push_back(std::move(run));
    }
  }
  report::StudyFacts facts = facts_of(study);
  facts.remarks = whole.remarks;
  facts.planned = whole.runs.size();
  SLUICE_CHECK(write_study(folder, whole, facts));
  return whole;
}

}  // namespace sluice::visit
