// sluice/cli/bench/mixture.cpp - `sluice bench mixture`: dozens of data sets of episodes to
// batches, how fast, how evenly, in which shares, and beside whom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/mixture.h"

#include "sluice/backend/cluster/folder.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/study.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/visit/mixture/run.h"
#include "sluice/visit/study/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sluice::cli {
namespace {

Result<ExitCode> run_bench(Context& context, const MixtureFlags& flags) {
  SLUICE_TRY(const visit::MixturePlan plan, mixture_plan(flags, context.globals));
  SLUICE_TRY(const visit::MixtureResult result, visit::run_mixture_bench(context.globals, plan));
  if (context.globals.json)
    print("{}", results::to_text(results::to_json(result.file)));
  else
    print("{}report: {}\n", result.text, (result.folder / "report.html").string());
  if (result.interrupted)
    return Error{Errc::interrupted,
                 fmt::format("interrupted; what was measured is in {}", result.folder.string())};
  return exit_code_of(result.file);
}

Result<ExitCode> run_study(const Context& context, const visit::StudyRequest& request) {
  SLUICE_TRY(const visit::StudyResult result, visit::run_study(context.globals, request));
  if (context.globals.json) {
    print("{}", results::to_text(visit::to_json(result.record)));
  } else {
    SLUICE_TRY(const std::string advice, read_text_file(result.folder / visit::kStudyAdvice));
    print("{}", advice);
    for (const char* file : {visit::kStudyLog, visit::kStudyAdvice, visit::kStudyRecord})
      print("{}\n", printable((result.folder / file).string()));
  }
  if (result.interrupted)
    return Error{Errc::interrupted,
                 fmt::format("interrupted; {} of {} runs are in {}; the same command goes on",
                             result.record.runs.size(), result.planned, result.folder.string())};
  return result.failed ? ExitCode::invalid : ExitCode::done;
}

/// The repeats that tasks of a cluster left in `folder`.
Result<ExitCode> merge_repeats(const visit::StudyRequest& request,
                               const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> parts;
  for (int repeat = 0; repeat < request.study.repeats; ++repeat)
    parts.push_back(backend::folder_of_task(folder, repeat));
  SLUICE_TRY(const visit::StudyRecord record, visit::merge_study(request.study, parts, folder));
  SLUICE_TRY(const std::string advice, read_text_file(folder / visit::kStudyAdvice));
  print("{}{}\n", advice, printable((folder / visit::kStudyRecord).string()));
  const bool failed = std::any_of(record.runs.begin(), record.runs.end(),
                                  [](const auto& run) { return !run.failure.empty(); });
  return failed ? ExitCode::invalid : ExitCode::done;
}

}  // namespace

void add_bench_mixture(CLI::App& bench, Context& context) {
  auto flags = std::make_shared<MixtureFlags>();
  auto study = std::make_shared<StudyFlags>();
  CLI::App* command = add_command(
      bench, context, "mixture", "Measure a loader that mixes data sets of episodes by weight",
      [flags, study, &bench, &context]() -> Result<ExitCode> {
        if (study->file.empty() && study->repeats > 0)
          return Error{Errc::usage, "--repeats belongs to --study; --runs repeats one setting"};
        if (study->file.empty() && study->then_train > 0)
          return Error{Errc::usage,
                       "--then-train belongs to --study; --train trains with one setting"};
        if (study->file.empty()) return run_bench(context, *flags);
        SLUICE_TRY(
            const visit::StudyRequest request,
            study_request(*bench.get_subcommand("mixture"), *flags, *study, context.globals));
        if (!study->merge_repeats.empty()) return merge_repeats(request, study->merge_repeats);
        return run_study(context, request);
      });
  add_mixture_flags(*command, *flags);
  add_study_flags(*command, *study);
  show_first(*command, {"--root", "--preset", "--weight", "--skip", "--cache-dir", "--batch-size",
                        "--samples-per-episode", "--image-size", "--decode-parallelism",
                        "--interleave-parallelism", "--warmup", "--steps", "--sleep", "--train",
                        "--gpu", "--seeds", "--libraries", "--runs", "--study"});
  add_examples(*command, {"sluice bench mixture --root oxe --preset oxe29 --out run",
                          "sluice bench mixture --root oxe --weight rt1=2 --skip droid,kuka",
                          "sluice bench mixture --root oxe --seeds 1,2,3 --runs 2 --json",
                          "sluice bench mixture --root oxe --libraries sluice,tfdata --runs 5",
                          "sluice bench mixture --root oxe --train vit5-small --gpu cuda:0",
                          "sluice bench mixture --root small --preset small4 --batch-size 8 "
                          "--steps 20000      (does memory grow?)",
                          "sluice bench mixture --preset my.yaml --validate",
                          "sluice bench mixture --study configs/studies/cluster_samples1.yaml "
                          "--root oxe --out study --then-train 2 --train vit5-tiny"});
}

}  // namespace sluice::cli
