// sluice/cli/flags/study.h - the flags of `bench mixture --study`, and which others go with them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/flags/mixture.h"
#include "sluice/visit/study/run.h"

#include <filesystem>

namespace sluice::cli {

struct StudyFlags {
  std::filesystem::path file;           // empty: no study is asked for
  int repeats = 0;                      // 0: as often as the study says
  int then_train = 0;                   // of the best settings; 0: none
  int only_repeat = 0;                  // of a task of a cluster; 0: all
  std::filesystem::path merge_repeats;  // folder of such tasks; empty: nothing is put together
};

/// --study, --repeats and --then-train.
void add_study_flags(CLI::App& command, StudyFlags& flags);

/// What is asked for; a flag that the study itself decides is refused by name.
Result<visit::StudyRequest> study_request(const CLI::App& command, MixtureFlags flags,
                                          const StudyFlags& study, const Globals& globals);

}  // namespace sluice::cli
