// sluice/visit/study/merge.h - repeats of a study, measured on nodes that are alike, as one study.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/study/record.h"

#include <filesystem>
#include <vector>

namespace sluice::visit {

/// `parts[i]` is the folder of repeat i + 1, all of it measured on one node. Repeats differ by
/// their node, too, and judge_study() takes out what they differ by; so the runs count as those of
/// one machine, the profile. Writes study.json and its pages into `folder`. Refused: a part without
/// runs, of another study, or of another profile than the first.
Result<StudyRecord> merge_study(const StudyFile& study,
                                const std::vector<std::filesystem::path>& parts,
                                const std::filesystem::path& folder);

}  // namespace sluice::visit
