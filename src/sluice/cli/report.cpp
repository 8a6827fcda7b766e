// sluice/cli/report.cpp - `sluice report DIR|FILE...`: renders result files again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/report.h"

#include "sluice/analysis/pool_files.h"
#include "sluice/analysis/validate.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/drawing.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/report/benchmark_json.h"
#include "sluice/report/gain/gain.h"
#include "sluice/report/gate/badge.h"
#include "sluice/report/gate/github.h"
#include "sluice/report/gate/junit.h"
#include "sluice/report/gate/openmetrics.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <unistd.h>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct ReportArgs {
  std::vector<std::string> inputs;
  std::vector<std::string> baseline;  // runs that others are to better
  std::string loader, training;       // those, by kind; inputs are told apart by what they hold
  std::string format;
  std::string site;
  report::MixtureDrawing drawing;
};

struct Loaded {
  std::vector<fs::path> paths;
  std::vector<results::ResultFile> files;
  std::vector<gate::GateReport> verdicts;
  std::string site;  // where all metrics are drawn over time; may be empty
};

/// What a format is made from; an input that lacks it is refused.
enum class From { results, verdict, either };

/// A gate report: verdict.json of a run folder, or a file that is one. Nothing where there is none.
Result<std::optional<gate::GateReport>> verdict_at(const fs::path& input) {
  std::error_code code;
  const bool folder = fs::is_directory(input, code);
  const fs::path path = folder ? input / "verdict.json" : input;
  if (!fs::exists(path, code)) return std::optional<gate::GateReport>{};
  SLUICE_TRY(const std::string text, read_text_file(path));
  SLUICE_TRY(const Json json, parse_json(text, printable(path.string())));
  if (!json.is_object() || !json.contains("lines")) return std::optional<gate::GateReport>{};
  auto report = gate::gate_report_from_json(json);
  if (!report)
    return Error{report.error().code, printable(path.string()) + ": " + report.error().message};
  return std::optional(std::move(*report));
}

Result<Loaded> load(const std::vector<std::string>& inputs, From from) {
  Loaded loaded;
  for (const auto& input : inputs) {
    std::optional<gate::GateReport> verdict;
    if (from != From::results) {
      SLUICE_TRY(verdict, verdict_at(input));
    }
    if (verdict) loaded.verdicts.push_back(std::move(*verdict));
    if (from == From::verdict && verdict) continue;
    const auto paths = results::find(input);
    if (!paths && verdict) continue;  // a gate's folder need not hold results
    if (!paths) return paths.error();
    for (const auto& path : *paths) {
      if (verdict && path == input) continue;  // the verdict itself
      loaded.paths.push_back(path);
    }
  }
  SLUICE_TRY(loaded.files, analysis::read_sound(loaded.paths));
  return loaded;
}

/// Runs of one table that were taken in several sessions become one.
void pool(Loaded& loaded) {
  analysis::PooledFiles pooled = analysis::pool_files(std::move(loaded.files));
  loaded.files = std::move(pooled.files);
  for (const std::string& note : pooled.notes)
    log::warn("{}", note);
}

Result<fs::path> output_folder(const ReportArgs& args, const fs::path& out) {
  if (!out.empty()) return out;
  if (args.inputs.size() > 1) {
    return Error{Errc::usage,
                 "report: with several inputs, --out DIR must say where the report goes"};
  }
  return folder_beside(args.inputs.front());
}

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

struct Rendered {
  const char* format;
  const char* file_name;
  std::string (*render)(const Loaded&);
  From from = From::results;
  bool unasked = false;  // also written when no format is named
};

std::string text_on_stdout(const Loaded& loaded) {
  report::TextOptions options;
  options.colour = colour_wanted();
  return report::text_table(loaded.files, options);
}

std::string plain_text(const Loaded& loaded) {
  return report::text_table(loaded.files);
}

std::string junit(const Loaded& loaded) {
  return loaded.verdicts.empty() ? report::junit(loaded.files) : report::junit(loaded.verdicts);
}

std::string github_summary(const Loaded& loaded) {
  return loaded.verdicts.empty() ? report::markdown(loaded.files)
                                 : report::github_summary(loaded.verdicts, loaded.site);
}

std::string github_comment(const Loaded& loaded) {
  return report::github_comment(loaded.verdicts, loaded.site);
}

std::string openmetrics(const Loaded& loaded) {
  return report::openmetrics(loaded.verdicts, loaded.files);
}

template <std::string (*Function)(const std::vector<results::ResultFile>&)>
std::string of_files(const Loaded& loaded) {
  return Function(loaded.files);
}

template <std::string (*Function)(const std::vector<gate::GateReport>&)>
std::string of_verdicts(const Loaded& loaded) {
  return Function(loaded.verdicts);
}

constexpr Rendered kFormats[] = {
    {"md", "report.md", of_files<report::markdown>, From::results, true},
    {"html", "report.html", of_files<report::html>, From::results, true},
    {"csv", "results.csv", of_files<report::csv>, From::results, true},
    {"text", "report.txt", plain_text},
    {"junit", "junit.xml", junit, From::either},
    {"openmetrics", "metrics.prom", openmetrics, From::either},
    {"google-benchmark", "google_benchmark.json", of_files<report::google_benchmark_json>},
    {"bencher", "bencher.json", of_files<report::bencher_json>},
    {"github-action-benchmark", "github_action_benchmark.json",
     of_files<report::github_action_benchmark_json>},
    {"github-summary", "summary.md", github_summary, From::either},
    {"annotations", "annotations.txt", of_verdicts<report::github_annotations>, From::verdict},
    {"pr-comment", "pr_comment.md", github_comment, From::verdict},
    {"badge", "badge.svg", of_verdicts<report::badge_svg>, From::verdict}};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Rendered& one : kFormats)
    names.emplace_back(one.format);
  return names;
}

/// Null: none was named.
const Rendered* format_named(const std::string& name) {
  for (const Rendered& one : kFormats)
    if (name == one.format) return &one;
  return nullptr;
}

Status check_source(const Rendered& format, const Loaded& loaded, const std::string& input) {
  if (format.from != From::verdict || !loaded.verdicts.empty()) return ok;
  return Error{Errc::not_found,
               fmt::format("{}: has no verdict.json of a gate, which --format {} needs",
                           printable(input), format.format)};
}

Result<ExitCode> print_json(const Loaded& loaded) {
  Json document = {{"schema_version", results::kSchemaVersion}, {"files", Json::array()}};
  for (std::size_t i = 0; i < loaded.files.size(); ++i) {
    document["files"].push_back(
        Json{{"path", loaded.paths[i].string()}, {"result", results::to_json(loaded.files[i])}});
  }
  print_text(results::to_text(document));
  return ExitCode::done;
}

/// Batch times have drawings of their own and stand alone.
Result<ExitCode> run_batch_times(const ReportArgs& args, const Globals& globals) {
  if (args.inputs.size() > 1)
    return Error{Errc::usage, "report: batch times are drawn one file at a time"};
  if (!args.format.empty())
    return Error{Errc::usage, fmt::format("report: --format {} needs result files, not {}",
                                          args.format, printable(args.inputs.front()))};
  return report_batch_times(args.inputs.front(), globals, args.drawing);
}

/// Runs beside their baseline: a page of its own.
Result<ExitCode> run_gain(const ReportArgs& args, const Globals& globals) {
  if (globals.json)
    return Error{Errc::usage,
                 "report --baseline: --json is not accepted with it; the result files "
                 "hold every number"};
  if (!args.format.empty() && args.format != "md" && args.format != "html")
    return Error{
        Errc::usage,
        fmt::format("report --baseline: --format {}; md and html are accepted", args.format)};
  SLUICE_TRY(const Loaded baseline, load(args.baseline, From::results));
  std::vector<std::string> inputs = args.inputs;
  for (const std::string& one : {args.loader, args.training})
    if (!one.empty()) inputs.push_back(one);
  SLUICE_TRY(const Loaded runs, load(inputs, From::results));
  SLUICE_TRY(const report::GainRuns sides, report::gain_runs(baseline.files, runs.files));
  const report::GainReport gain = report::gain_report(sides);
  if (!args.format.empty() && globals.out.empty()) {
    print_text(args.format == "md" ? report::gain_markdown(gain) : report::gain_html(gain));
    return ExitCode::done;
  }
  ReportArgs one = args;
  one.inputs = std::move(inputs);
  SLUICE_TRY(const fs::path folder, output_folder(one, globals.out));
  std::vector<std::pair<fs::path, std::string (*)(const report::GainReport&)>> wanted;
  if (args.format != "html") wanted.emplace_back(folder / "gain.md", report::gain_markdown);
  if (args.format != "md") wanted.emplace_back(folder / "gain.html", report::gain_html);
  std::vector<fs::path> paths;
  for (const auto& file : wanted)
    paths.push_back(file.first);
  OutputFiles files(globals);
  SLUICE_CHECK(files.claim(paths));
  print("{}\n", gain.headline);
  for (const auto& [path, render] : wanted) {
    SLUICE_CHECK(files.write(path, render(gain)));
    print("{}\n", printable(path.string()));
  }
  return ExitCode::done;
}

Status check_sides(const ReportArgs& args) {
  const bool by_kind = !args.loader.empty() || !args.training.empty();
  if (args.baseline.empty() && by_kind)
    return Error{Errc::usage, fmt::format("report {}: needs --baseline RUN",
                                          args.loader.empty() ? "--training" : "--loader")};
  if (args.inputs.empty() && !by_kind)
    return Error{Errc::usage,
                 args.baseline.empty()
                     ? "report: names no input; result files or run folders are accepted"
                     : "report --baseline: names no run beside it; give it after the "
                       "baseline, or with --loader or --training"};
  return ok;
}

Result<ExitCode> run_report(const ReportArgs& args, const Globals& globals) {
  SLUICE_CHECK(check_sides(args));
  if (!args.baseline.empty()) return run_gain(args, globals);
  if (std::any_of(args.inputs.begin(), args.inputs.end(), names_batch_times))
    return run_batch_times(args, globals);
  const Rendered* only = format_named(args.format);
  if (!args.site.empty()) SLUICE_CHECK(report::check_site(args.site, "--site"));
  SLUICE_TRY(Loaded loaded, load(args.inputs, only != nullptr ? only->from : From::results));
  loaded.site = args.site;
  if (globals.json) return print_json(loaded);
  pool(loaded);
  if (only != nullptr) SLUICE_CHECK(check_source(*only, loaded, args.inputs.front()));
  if (only != nullptr && globals.out.empty()) {
    print_text(only->render == plain_text ? text_on_stdout(loaded) : only->render(loaded));
    return ExitCode::done;
  }
  SLUICE_TRY(const fs::path folder, output_folder(args, globals.out));
  std::vector<const Rendered*> wanted;
  std::vector<fs::path> paths;
  for (const auto& format : kFormats) {
    if (only != nullptr ? only != &format : !format.unasked) continue;
    wanted.push_back(&format);
    paths.push_back(folder / format.file_name);
  }
  OutputFiles files(globals);
  SLUICE_CHECK(files.claim(paths));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SLUICE_CHECK(files.write(paths[i], wanted[i]->render(loaded)));
    print("{}\n", printable(paths[i].string()));
  }
  return ExitCode::done;
}

}  // namespace

void add_report(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<ReportArgs>(
      root, context, "report",
      "Render result files and verdicts: Markdown, HTML, CSV, what CI reads, gains over a baseline",
      run_report);
  sub.add_option("inputs", args.inputs, "result files or run folders, or one batch_times.jsonl")
      ->type_name("DIR|FILE");
  sub.add_option(
         "--baseline", args.baseline,
         "a run of bench dataloader or bench training that the others are to better; may be "
         "given twice, once for each")
      ->type_name("RUN")
      ->allow_extra_args(false);
  add_value(sub, "--loader", args.loader, "RUN", "run of bench dataloader, beside the baseline");
  add_value(sub, "--training", args.training, "RUN", "run of bench training, beside the baseline");
  sub.add_option("--format", args.format,
                 "write only this format: to stdout, or into the folder that --out names")
      ->check(CLI::IsMember(format_names()));
  add_value(sub, "--site", args.site, "URL",
            "pages of all metrics over time, linked from summary and comment");
  add_force_flag(sub, context.globals);
  add_drawing_flags(sub, args.drawing);
  add_examples(sub,
               {"sluice report runs/20260131T120000Z-quick-cpu", "sluice report R --format text",
                "sluice report R --format csv > rows.csv", "sluice report R --format junit --out R",
                "sluice report R --format github-summary >> $GITHUB_STEP_SUMMARY",
                "sluice report R --format badge > badge.svg",
                "sluice report docs/results/rgb-micro --out drawn     (published: nothing is "
                "written beside it)",
                "sluice report A B C --out pooled      (runs of one table in several folders)",
                "sluice report --baseline R1 R2        (how many times as fast, and why)",
                "sluice report --baseline R1 --loader R2 --training R3 --out report",
                "sluice report R/batch_times.jsonl --out drawings --window 8"});
}

}  // namespace sluice::cli
