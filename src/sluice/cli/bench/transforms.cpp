// sluice/cli/bench/transforms.cpp - `sluice bench transforms`: our transforms beside those of other
// libraries and a plain copy, row by row.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/versus.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/local_run.h"
#include "sluice/cli/print.h"
#include "sluice/config/from_json.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/peers/places.h"

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

struct TransformFlags : LocalFlags {
  std::string scenario = "image-rgb";
  std::string libraries, transforms, transform_set;
  std::optional<std::int64_t> num_items;
  std::int64_t num_runs = 5;
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
  SLUICE_TRY(Json selection, selection_of(flags));
  const bool clips = flags.scenario == "video-16f";
  Json document{{"version", 1},
                {"selection", std::move(selection)},
                {"data", Json{{"num_items", flags.num_items.value_or(clips ? kClips : kImages)}}},
                {"execution", Json{{"num_runs", flags.num_runs}, {"seed", globals.seed}}}};
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

void show_text(const Verdict& verdict, const fs::path& folder, const std::string& unit) {
  print("{:<22} {:>11} {:>26} {:>24} {:>8}  {}\n", "transform", unit, "fastest other",
        "times as fast", "memcpy", "");
  for (const analysis::Versus& one : verdict.summary.versus) {
    const std::string peer =
        one.peer.empty()
            ? "-"
            : fmt::format("{}{} {:.0f}", one.peer, one.comparable ? "" : "*", one.peer_rate);
    const std::string ratio = one.ratio ? fmt::format("{:.2f} ({:.2f} to {:.2f})", one.ratio->point,
                                                      one.ratio->low, one.ratio->high)
                                        : "-";
    const std::string share =
        one.of_memcpy ? fmt::format("{:.0f} %", one.of_memcpy->point * 100) : "-";
    print("{:<22} {:>11.0f} {:>26} {:>24} {:>8}  {}\n",
          one.case_name.substr(one.case_name.rfind('/') + 1), one.rate, peer, ratio, share,
          to_string(one.standing));
  }
  const analysis::VersusSummary& sum = verdict.summary;
  print("\nwins {}/{}, ties {}, losses {}", sum.wins, sum.rows, sum.ties, sum.losses);
  if (sum.alone > 0) print(", {} that no other has", sum.alone);
  if (sum.geomean)
    print(
        "; geometric mean {:.2f} x the fastest other ({:.2f} to {:.2f} between rows), "
        "slowest {} {:.2f} x",
        sum.geomean->point, sum.geomean->low, sum.geomean->high,
        sum.slowest_case.substr(sum.slowest_case.rfind('/') + 1), sum.slowest_ratio);
  print("\n");
  const bool starred = std::any_of(verdict.summary.versus.begin(), verdict.summary.versus.end(),
                                   [](const analysis::Versus& one) { return !one.comparable; });
  if (starred) print("* computes something else, see docs/semantics.md\n");
  for (const std::string& name : sum.failed)
    print("not measured: {}\n", name);
  print("report: {}\n", (folder / "report.html").string());
}

/// One result file with the rows of all libraries, and the summary as a further key.
void show_json(const backend::LocalResult& run, const Verdict& verdict) {
  results::ResultFile all = run.files.front();
  all.rows = verdict.measured;
  all.matrix.reset();
  all.versus = verdict.summary;
  Json document = results::to_json(all);
  document["folder"] = run.folder.string();
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
    show_text(verdict, run.folder, plan.jobs.front().unit);
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
  add_number(command, "--num-runs", flags.num_runs, std::int64_t{1}, plan::kMaxRuns,
             "fresh processes per row");
  add_number(command, "--threads", flags.threads, 1, 1024, "threads that every library may use");
  add_value(command, "--data-dir", flags.data_dir, "DIR",
            "folder of images or clips; without it they are generated");
  add_local_flags(command, flags);
  add_examples(command,
               {"sluice bench transforms --libraries sluice,albumentationsx,opencv,pillow",
                "sluice bench transforms --scenario video-16f --transforms Resize,Rotate --json"});
}

}  // namespace sluice::cli
