// sluice/visit/study/run.h - `sluice bench mixture --study FILE`: every setting of a study, in
// random order, in processes of their own, and what it comes to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/mixture/svg.h"
#include "sluice/scenario/mixture/spec.h"
#include "sluice/visit/caller.h"
#include "sluice/visit/study/record.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace sluice::visit {

/// What is trained after a study.
struct ThenTrain {
  int settings = 0;  // the best so many; 0: none
  std::string model{};
  std::string device = "cpu";
};

struct StudyRequest {
  std::filesystem::path file;
  StudyFile study;
  scenario::MixtureSpec data;            // where the episodes lie; the study says how to load them
  std::optional<std::uint64_t> steps{};  // of every run, instead of the study's
  int only_repeat = 0;                   // 0: all of them
  report::MixtureDrawing drawing{};
  ThenTrain then_train{};
};

struct StudyResult {
  StudyRecord record;
  std::filesystem::path folder;
  bool failed = false;  // a run of this machine did
  bool interrupted = false;
  std::size_t planned = 0;  // runs, those of earlier visits included
};

/// Adds to the study in `out` when there is one; what is finished is not measured again.
Result<StudyResult> run_study(const Caller& caller, const StudyRequest& request);

}  // namespace sluice::visit
