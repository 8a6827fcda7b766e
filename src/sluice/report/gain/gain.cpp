// sluice/report/gain/gain.cpp - two sides of result files become lines of a report.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gain/gain.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/core/text.h"
#include "sluice/report/gain/optimisations.h"
#include "sluice/report/gain/unequal_work.h"
#include "sluice/report/loader_text.h"
#include "sluice/report/training_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace sluice::report {
namespace {

using results::ResultFile;
using Figure = measure::Measured<double>;

struct Side {
  const ResultFile* loader = nullptr;
  const ResultFile* training = nullptr;
};

Result<Side> side_of(const std::vector<ResultFile>& files, const char* name) {
  Side side;
  for (const ResultFile& file : files) {
    const bool loads = is_loader_file(file);
    if (!loads && !is_training_file(file))
      return Error{Errc::usage,
                   fmt::format("{}: `{}` is no run of `bench dataloader` or `bench training`, "
                               "which are compared with a baseline",
                               name, printable(string_at(file.run_config, "command")))};
    const ResultFile*& place = loads ? side.loader : side.training;
    if (place != nullptr)
      return Error{Errc::usage, fmt::format("{}: two runs of `bench {}` are given, one is accepted",
                                            name, loads ? "dataloader" : "training")};
    place = &file;
  }
  return side;
}

/// The row that the figures of a file are of.
const measure::Row* main_row(const ResultFile* file) {
  if (file == nullptr) return nullptr;
  const std::string base = string_at(file->run_config, "case");
  const measure::Row* best = nullptr;
  for (const measure::Row& row : file->rows) {
    if (row.library != kOurs || !row.summary || row.status != measure::RowStatus::ok) continue;
    if (is_loader_file(*file) && row.case_name != base) continue;
    if (best == nullptr || row.summary->mean > best->summary->mean) best = &row;
  }
  return best;
}

constexpr const char* kBytes = "bytes";  // a format: the unit follows the size

std::string number(const Figure& figure, const char* format, double scale) {
  if (figure.value && std::string_view(format) == kBytes) return bytes(*figure.value * scale);
  return figure.value && std::isfinite(*figure.value)
             ? fmt::format(fmt::runtime(format), *figure.value * scale)
             : std::string(kNone);
}

std::optional<double> over(const Figure& run, const Figure& baseline) {
  if (!run.value || !baseline.value || !(*baseline.value > 0) || !(*run.value > 0))
    return std::nullopt;
  return *run.value / *baseline.value;
}

/// The mean over runs, which a ratio of runs is of; else the figure of the file.
Figure over_runs(const ResultFile* file, const Figure& otherwise) {
  const measure::Row* row = main_row(file);
  return row != nullptr ? Figure{row->summary->mean, ""} : otherwise;
}

std::string missing(const char* side, const char* kind) {
  return fmt::format("n/a: the {} has no run of `bench {}`", side, kind);
}

/// Why a change cannot be said; empty: both sides have a run.
std::string absent(const ResultFile* baseline, const ResultFile* run, const char* kind) {
  if (baseline == nullptr) return missing("baseline", kind);
  return run == nullptr ? missing("report", kind) : "";
}

/// How many times as fast; with an interval where both sides have runs enough.
std::string times_faster(const ResultFile* baseline, const ResultFile* run, const Figure& was,
                         const Figure& is) {
  const measure::Row* before = main_row(baseline);
  const measure::Row* after = main_row(run);
  if (before != nullptr && after != nullptr)
    if (const auto ratio =
            analysis::row_ratio(*after, *before, baseline->session_id == run->session_id))
      return ratio_text(*ratio);
  const auto ratio = over(is, was);
  return ratio ? fmt::format("{:.2f}× (one run a side: no interval)", *ratio)
               : "n/a: not measured on both sides";
}

std::string less_or_more(const Figure& was, const Figure& is) {
  const auto ratio = over(is, was);
  if (!ratio) return "n/a: not measured on both sides";
  const double change = (*ratio - 1) * 100;
  if (std::abs(change) < 0.5) return "the same";
  return fmt::format("{:.0f} % {}", std::abs(change), change < 0 ? "less" : "more");
}

/// One figure of both files of a kind.
template <class Metrics>
struct FigureLine {
  const char* name;
  Figure (*figure)(const Metrics&);
  const char* format;
  double scale;
  bool rate;  // of the main row: a ratio of runs can be had
};

const FigureLine<results::LoaderMetrics> kLoaderLines[] = {
    {"data loading", [](const results::LoaderMetrics& m) { return m.throughput; },
     "{:.0f} samples/s", 1, true},
    {"first epoch", [](const results::LoaderMetrics& m) { return m.first_epoch_rate; },
     "{:.0f} samples/s", 1, false},
    {"load time of a batch", [](const results::LoaderMetrics& m) { return m.load_time_ms; },
     "{:.2f} ms", 1, false},
    {"memory of the loader", [](const results::LoaderMetrics& m) { return m.memory_used_gb; },
     kBytes, 1e9, false},
    {"CPU of the loader", [](const results::LoaderMetrics& m) { return m.cpu_usage_percent; },
     "{:.0f} %", 1, false},
    {"cache hit rate", [](const results::LoaderMetrics& m) { return m.cache_hit_rate; }, "{:.0f} %",
     100, false},
};

/// On a GPU the driver's count is of all that the process holds there.
Figure training_memory(const results::TrainingMetrics& m) {
  return m.memory.driver_peak_bytes.value ? m.memory.driver_peak_bytes
                                          : m.memory.peak_allocated_bytes;
}

const FigureLine<results::TrainingMetrics> kTrainingLines[] = {
    {"training", [](const results::TrainingMetrics& m) { return m.throughput.samples_p50; },
     "{:.1f} samples/s", 1, true},
    {"training step", [](const results::TrainingMetrics& m) { return m.timing.p50; }, "{:.2f} ms",
     1e3, false},
    {"memory of training", training_memory, kBytes, 1, false},
    {"GPU utilization", [](const results::TrainingMetrics& m) { return m.compute_use; }, "{:.0f} %",
     100, false},
    {"CPU in training", [](const results::TrainingMetrics& m) { return m.cpu_use; }, "{:.0f} %",
     100, false},
};

template <class Metrics, std::size_t N>
void add_lines(std::vector<GainLine>& lines, const FigureLine<Metrics> (&table)[N],
               const ResultFile* baseline, const ResultFile* run,
               std::optional<Metrics> ResultFile::*metrics, const char* kind) {
  const std::string why = absent(baseline, run, kind);
  for (const FigureLine<Metrics>& line : table) {
    const auto of = [&](const ResultFile* file) {
      return file != nullptr ? line.figure(*(file->*metrics)) : Figure{};
    };
    const Figure was = line.rate ? over_runs(baseline, of(baseline)) : of(baseline);
    const Figure is = line.rate ? over_runs(run, of(run)) : of(run);
    if (!was.value && !is.value && !line.rate) continue;
    std::string change = why;
    if (why.empty())
      change = line.rate ? times_faster(baseline, run, was, is) : less_or_more(was, is);
    lines.push_back({line.name, number(was, line.format, line.scale),
                     number(is, line.format, line.scale), change});
  }
}

const GainLine* line_named(const GainReport& report, const char* name) {
  for (const GainLine& line : report.lines)
    if (line.name == name) return &line;
  return nullptr;
}

/// "Data loading 2.31×, training 1.52×, memory 34 % less than the baseline."
std::string headline_of(const GainReport& report) {
  std::vector<std::string> parts;
  for (const char* name : {"data loading", "training"}) {
    const GainLine* line = line_named(report, name);
    const bool known = line != nullptr && !line->change.starts_with("n/a");
    parts.push_back(fmt::format("{} {}", name, known ? line->change : "n/a"));
  }
  const GainLine* memory = line_named(report, "memory of training");
  if (memory == nullptr || memory->change.starts_with("n/a"))
    memory = line_named(report, "memory of the loader");
  parts.push_back(memory != nullptr && !memory->change.starts_with("n/a")
                      ? "memory " + memory->change
                      : "memory n/a");
  std::string text = join(parts, ", ") + ", against the baseline.";
  text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

void add_remarks(std::vector<std::string>& remarks, const ResultFile* baseline,
                 const ResultFile* run, const char* kind) {
  if (baseline == nullptr || run == nullptr) return;
  if (baseline->machine_profile != run->machine_profile)
    remarks.push_back(
        fmt::format("{}: the machines differ, {} and {}: the ratio is of both "
                    "machine and change",
                    kind, printable(baseline->machine_profile), printable(run->machine_profile)));
  if (baseline->dataset.hash != run->dataset.hash)
    remarks.push_back(fmt::format("{}: the data differ", kind));
  if (baseline->session_id != run->session_id)
    remarks.push_back(
        fmt::format("{}: the runs were taken at different times; `sluice compare` and "
                    "`sluice ab` judge whether a difference is one",
                    kind));
  if (baseline->training && run->training &&
      baseline->training->config.model != run->training->config.model)
    remarks.push_back(fmt::format("{}: the models differ, {} and {}", kind,
                                  printable(baseline->training->config.model),
                                  printable(run->training->config.model)));
  if (const std::vector<std::string> work = unequal_work(*baseline, *run); !work.empty())
    remarks.push_back(
        fmt::format("{}: the sides did not do the same work, so the ratio is of that as well: {}",
                    kind, join(work)));
}

/// Every key that either side has, in the order of the run.
void add_settings(std::vector<GainSetting>& settings, const ResultFile* baseline,
                  const ResultFile* run, const char* kind) {
  constexpr std::size_t kMost = 200;
  const auto facts = [](const ResultFile* file) {
    return file != nullptr ? flatten(file->run_config, kMost) : std::vector<Fact>{};
  };
  const std::vector<Fact> was = facts(baseline);
  const std::vector<Fact> is = facts(run);
  std::map<std::string, std::string> before;
  for (const Fact& fact : was)
    before[fact.name] = fact.value;
  for (const Fact& fact : is) {
    const auto found = before.find(fact.name);
    settings.push_back(
        {kind, fact.name, found != before.end() ? found->second : std::string(kNone), fact.value});
    if (found != before.end()) before.erase(found);
  }
  for (const Fact& fact : was)
    if (before.contains(fact.name))
      settings.push_back({kind, fact.name, fact.value, std::string(kNone)});
}

std::vector<GainOptimisation> optimisations(const GainRuns& runs) {
  std::vector<GainOptimisation> list;
  const auto add = [&](const ResultFile* file, bool GainOptimisation::*side) {
    if (file == nullptr) return;
    for (const std::string& name : optimisations_of(*file)) {
      auto known = std::find_if(list.begin(), list.end(),
                                [&](const GainOptimisation& one) { return one.name == name; });
      if (known == list.end()) known = list.insert(list.end(), {name});
      (*known).*side = true;
    }
  };
  add(runs.loader, &GainOptimisation::in_run);
  add(runs.training, &GainOptimisation::in_run);
  add(runs.baseline_loader, &GainOptimisation::in_baseline);
  add(runs.baseline_training, &GainOptimisation::in_baseline);
  return list;
}

}  // namespace

Result<GainRuns> gain_runs(const std::vector<ResultFile>& baseline,
                           const std::vector<ResultFile>& runs) {
  SLUICE_TRY(const Side was, side_of(baseline, "--baseline"));
  SLUICE_TRY(const Side is, side_of(runs, "report"));
  const bool loaders = was.loader != nullptr && is.loader != nullptr;
  const bool trainings = was.training != nullptr && is.training != nullptr;
  if (!loaders && !trainings)
    return Error{Errc::usage,
                 "report --baseline: baseline and run have no kind in common; two runs of `bench "
                 "dataloader` or two of `bench training` are needed"};
  return GainRuns{was.loader, was.training, is.loader, is.training};
}

GainReport gain_report(const GainRuns& runs) {
  GainReport report;
  add_lines(report.lines, kLoaderLines, runs.baseline_loader, runs.loader, &ResultFile::loader,
            "dataloader");
  add_lines(report.lines, kTrainingLines, runs.baseline_training, runs.training,
            &ResultFile::training, "training");
  report.headline = headline_of(report);
  add_remarks(report.remarks, runs.baseline_loader, runs.loader, "data loading");
  add_remarks(report.remarks, runs.baseline_training, runs.training, "training");
  report.optimisations = optimisations(runs);
  add_settings(report.settings, runs.baseline_loader, runs.loader, "loader");
  add_settings(report.settings, runs.baseline_training, runs.training, "training");
  for (const auto& [name, file] : {std::pair{"baseline, data loading", runs.baseline_loader},
                                   {"baseline, training", runs.baseline_training},
                                   {"data loading", runs.loader},
                                   {"training", runs.training}})
    if (file != nullptr) report.parts.push_back({name, file});
  return report;
}

}  // namespace sluice::report
