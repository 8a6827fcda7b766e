// sluice/cli/flags/study.cpp - the flags of `bench mixture --study`, and which others go with them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/study.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

/// What a study says by itself: given beside it, one of the two would be ignored.
constexpr const char* kOfTheStudy[] = {"--batch-size",
                                       "--samples-per-episode",
                                       "--metadata",
                                       "--decode-parallelism",
                                       "--interleave-parallelism",
                                       "--pipeline-interleave",
                                       "--mix",
                                       "--mix-block",
                                       "--queue",
                                       "--min-ready",
                                       "--prime",
                                       "--prime-samples",
                                       "--warmup",
                                       "--seeds",
                                       "--libraries",
                                       "--runs",
                                       "--cpus"};

}  // namespace

void add_study_flags(CLI::App& command, StudyFlags& flags) {
  begin_group(command, "Study");
  add_value(command, "--study", flags.file, "FILE",
            "measure every setting of this study instead (docs/mixture-study.md)");
  command.add_option("--repeats", flags.repeats, "runs of every setting of a study")
      ->check(CLI::Range(1, 1000));
  command
      .add_option(
          "--then-train", flags.then_train,
          "after a study, train the model of --train (default vit5-tiny) with so many of its "
          "best settings, and say how long it waits")
      ->check(CLI::Range(1, 100));
  // Of jobs that --backend slurm submits; not in the help.
  command.add_option("--only-repeat", flags.only_repeat)->check(CLI::Range(1, 1000))->group("");
  command.add_option("--merge-repeats", flags.merge_repeats)->group("");
}

Result<visit::StudyRequest> study_request(const CLI::App& command, MixtureFlags flags,
                                          const StudyFlags& study, const Globals& globals) {
  for (const char* flag : kOfTheStudy)
    if (command.count(flag) > 0)
      return Error{Errc::usage, fmt::format("{}: the study sets it; change it in {}", flag,
                                            printable(study.file.string()))};
  if (flags.validate)
    return Error{Errc::usage, "--validate: of a run, not of a study; give it without --study"};
  visit::StudyRequest request;
  request.file = study.file;
  if (study.then_train > 0 && flags.spec.train.empty()) flags.spec.train = "vit5-tiny";
  SLUICE_TRY(request.study, visit::read_study(study.file));
  if (command.count("--preset") > 0)
    request.study.preset = flags.spec.preset;
  else
    flags.spec.preset = request.study.preset;
  if (study.repeats > 0) request.study.repeats = study.repeats;
  SLUICE_TRY(const visit::MixturePlan plan, mixture_plan(flags, globals));
  request.data = plan.spec;
  if (study.then_train > 0) {  // the study itself measures the loader alone
    request.then_train = {study.then_train, plan.spec.train, plan.spec.device};
    request.data.train.clear();
    request.data.device = "cpu";
  }
  request.drawing = plan.drawing;
  if (command.count("--steps") > 0) request.steps = flags.spec.steps;
  request.only_repeat = study.only_repeat;
  return request;
}

}  // namespace sluice::cli
