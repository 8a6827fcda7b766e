// sluice/cli/bench/transforms.cpp - `sluice bench transforms`: our transforms beside those of other
// libraries and a plain copy, row by row.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/versus.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/local_run.h"
#include "sluice/cli/print.h"
#include "sluice/cli/terminal.h"
#include "sluice/config/from_json.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/peers/places.h"
#include "sluice/report/matrix/answer.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

/// Fewer would stay in a nearer cache than those of a real data set.
constexpr int kImages = 64;
constexpr int kClips = 8;
/// Fresh processes per library: as few as give an interval that decides, and for who has time.
constexpr std::int64_t kRuns = 3;
constexpr std::int64_t kThoroughRuns = 10;

struct TransformFlags : LocalFlags {
  std::string scenario = "image-rgb";
  std::string libraries, transforms, transform_set;
  std::optional<std::int64_t> num_items;
  std::optional<std::int64_t> num_runs;
  bool thorough = false;
  int threads = 1;
  fs::path data_dir;
};

Result<Json> selection_of(const TransformFlags& flags) {
  if (!flags.transforms.empty() && !flags.transform_set.empty())
    return Error{Errc::usage, "--transforms and --transform-set: give only one"};
  SLUICE_TRY(const peers::Places places, peers::find_places());
  Json selection{{"scenario", flags.scenario}, {"mode", "micro"}};
  if (!flags.libraries.empty()) selection["libraries"] = split(flags.libraries, ',');
  if (!flags.transforms.empty()) selection["transforms"] = split(flags.transforms, ',');
  if (!flags.transform_set.empty()) selection["transform_set"] = flags.transform_set;
  selection["peers"] =
      Json{{analysis::kYardstick, Json::array({places.program.string(), "worker", "--memcpy"})}};
  return selection;
}

/// The run configuration that the flags come to: what `sluice run` would read from a file.
Result<plan::RunConfig> config_of(const TransformFlags& flags, const Globals& globals) {
  if (flags.thorough && flags.num_runs)
    return Error{Errc::usage, "--thorough and --num-runs: give only one"};
  const std::int64_t runs = flags.num_runs.value_or(flags.thorough ? kThoroughRuns : kRuns);
  SLUICE_TRY(Json selection, selection_of(flags));
  const bool clips = flags.scenario == "video-16f";
  Json document{{"version", 1},
                {"selection", std::move(selection)},
                {"data", Json{{"num_items", flags.num_items.value_or(clips ? kClips : kImages)}}},
                {"execution", Json{{"num_runs", runs}, {"seed", globals.seed}}}};
  plan::Overrides over;
  if (!flags.data_dir.empty()) over.data_dir = flags.data_dir.string();
  if (!globals.out.empty()) over.output = globals.out.string();
  SLUICE_TRY(plan::RunConfig config, plan::read_run_config(config::from_json(document), over));
  if (flags.threads > 1) config.execution.thread_policy = "micro-threads";
  return config;
}

struct Verdict {
  std::vector<measure::Row> measured;  // of all libraries
  results::VersusSummary summary;
};

Verdict judge(const backend::LocalResult& run) {
  Verdict verdict;
  for (const results::ResultFile& file : run.files)
    verdict.measured.insert(verdict.measured.end(), file.rows.begin(), file.rows.end());
  verdict.summary =
      analysis::summarise(analysis::versus_fastest(verdict.measured), verdict.measured);
  return verdict;
}

/// The verdict stands in our own file, so that what is printed is written.
Status keep(backend::LocalResult& run, const plan::Plan& plan, const Verdict& verdict) {
  for (std::size_t j = 0; j < run.files.size(); ++j) {
    if (plan.jobs[j].library != "sluice") continue;
    run.files[j].versus = verdict.summary;
    SLUICE_CHECK(results::write(run.folder / "results" / plan.jobs[j].output, run.files[j]));
  }
  return write_reports(run);
}

std::vector<report::MatrixTable> tables_of(const backend::LocalResult& run) {
  std::vector<const results::ResultFile*> files;
  for (const results::ResultFile& file : run.files)
    files.push_back(&file);
  return report::matrix_tables(files);
}

/// The matrix, and last the sentence that answers.
void show_text(const backend::LocalResult& run, const Verdict& verdict) {
  for (const std::string& name : verdict.summary.failed)
    print("not measured: {}\n", name);
  print("report: {}\n\n", (run.folder / "report.html").string());
  for (const report::MatrixTable& table : tables_of(run))
    print("{}", report::matrix_text(table, terminal_options()));
}

/// One result file with the rows of all libraries, and the summary as a further key.
void show_json(const backend::LocalResult& run, const Verdict& verdict) {
  results::ResultFile all = run.files.front();
  all.rows = verdict.measured;
  all.matrix.reset();
  all.versus = verdict.summary;
  Json document = results::to_json(all);
  document["folder"] = run.folder.string();
  document["answer"] = Json::array();
  for (const report::MatrixTable& table : tables_of(run))
    document["answer"].push_back(report::answer_json(table));
  print("{}", results::to_text(document));
}

Result<backend::LocalOptions> options_of(const TransformFlags& flags, const Context& context) {
  if (flags.threads > static_cast<int>(usable_cores()))
    return Error{Errc::usage, fmt::format("--threads {}: this machine has {} cores to use",
                                          flags.threads, usable_cores())};
  SLUICE_TRY(backend::LocalOptions options,
             local_options(context, flags, context.globals.out,
                           fmt::format("bench-transforms-{}", flags.scenario)));
  options.threads = flags.threads;
  return options;
}

Result<ExitCode> run_bench(Context& context, const TransformFlags& flags) {
  SLUICE_TRY(const backend::LocalOptions options, options_of(flags, context));
  SLUICE_TRY(const plan::RunConfig config, config_of(flags, context.globals));
  SLUICE_TRY(const plan::Plan plan, plan::make_plan(config));
  SLUICE_TRY(backend::LocalResult run,
             backend::run_local(plan, options, *context.globals.progress));
  const Verdict verdict = judge(run);
  SLUICE_CHECK(keep(run, plan, verdict));
  if (context.globals.json)
    show_json(run, verdict);
  else
    show_text(run, verdict);
  return ending_of(run);
}

}  // namespace

void add_bench_transforms(CLI::App& bench, Context& context) {
  auto [command, flags] = add_command<TransformFlags>(
      bench, context, "transforms", "Measure every transform beside other libraries and memcpy",
      run_bench);
  add_choice(command, "--scenario", flags.scenario, {"image-rgb", "image-9ch", "video-16f"},
             "kind of images or clips to measure on");
  add_value(command, "--libraries", flags.libraries, "NAME,NAME",
            "libraries to measure; default: all");
  add_value(command, "--transforms", flags.transforms, "NAME,NAME", "transforms to measure");
  add_value(command, "--transform-set", flags.transform_set, "{paper}",
            "measure the whole transform set of the scenario");
  command
      .add_option("--num-items", flags.num_items,
                  "images or clips to use (default 64 images, 8 clips)")
      ->check(CLI::Range(std::int64_t{1}, plan::kMaxItems));
  command
      .add_option("--num-runs", flags.num_runs,
                  fmt::format("fresh processes per row (default {})", kRuns))
      ->check(CLI::Range(std::int64_t{1}, plan::kMaxRuns));
  command.add_flag("--thorough", flags.thorough,
                   fmt::format("{} processes per row, for narrower intervals", kThoroughRuns));
  add_number(command, "--threads", flags.threads, 1, 1024, "threads that every library may use");
  add_value(command, "--data-dir", flags.data_dir, "DIR",
            "folder of images or clips; without it they are generated");
  add_local_flags(command, flags);
  add_examples(command,
               {"sluice bench transforms --libraries sluice,albumentationsx,opencv,pillow",
                "sluice bench transforms --scenario video-16f --transforms Resize,Rotate --json"});
}

}  // namespace sluice::cli
