// sluice/cli/mixture_study.h - `sluice bench mixture --study FILE`: every setting of a study, in
// random order, in processes of their own, and what it comes to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/cli/study_file.h"
#include "sluice/report/mixture_svg.h"
#include "sluice/scenario/mixture_spec.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace sluice::cli {

struct StudyRequest {
  std::filesystem::path file;
  StudyFile study;
  scenario::MixtureSpec data;            // where the episodes lie; the study says how to load them
  std::optional<std::uint64_t> steps{};  // of every run, instead of the study's
  report::MixtureDrawing drawing{};
};

/// Adds to the study in --out when there is one; what is finished is not measured again. Ends with
/// an Error for Ctrl-C, with `invalid` when a run failed.
Result<ExitCode> run_study(Context& context, const StudyRequest& request);

}  // namespace sluice::cli
