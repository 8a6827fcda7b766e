// sluice/cli/flags/study.h - the flags of `bench mixture --study`, and which others go with them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/flags/mixture.h"
#include "sluice/visit/study/run.h"

#include <filesystem>

namespace sluice::cli {

struct StudyFlags {
  std::filesystem::path file;  // empty: no study is asked for
  int repeats = 0;             // 0: as often as the study says
};

/// --study and --repeats.
void add_study_flags(CLI::App& command, StudyFlags& flags);

/// What is asked for; a flag that the study itself decides is refused by name.
Result<visit::StudyRequest> study_request(const CLI::App& command, MixtureFlags flags,
                                          const StudyFlags& study, const Globals& globals);

}  // namespace sluice::cli
