// sluice/gate/site/visits.cpp - reads what is there, line by line, and names what is broken.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/site/visits.h"

#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/gate/baseline/store.h"
#include "sluice/gate/baseline/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>
#include <tuple>

namespace sluice::gate {
namespace {

namespace fs = std::filesystem;

/// How a figure of a gate is shown.
StoredMetric gate_metric(const std::string& name) {
  if (name.starts_with("tokens_per_sec")) return {name, "tokens/s", Wish::higher, Whisker::range};
  if (name.starts_with("samples_per_sec")) return {name, "samples/s", Wish::higher, Whisker::range};
  if (name.ends_with("_s")) return {name, "s", Wish::lower, Whisker::range};
  if (name.ends_with("_bytes")) return {name, "B", Wish::lower, Whisker::range};
  if (name.starts_with("probe/")) return {name, "", Wish::higher, Whisker::range};
  if (name.starts_with("ppl")) return {name, "", Wish::lower, Whisker::range};
  return {name, "", Wish::none, Whisker::range};
}

void add_figures(StoredVisit& stored, const Visit& visit, StoredVisits& all) {
  for (const auto& [name, value] : visit.figures) {
    StoredFigure figure{all.metric(gate_metric(name)), value, std::nullopt};
    if (const auto range = visit.ranges.find(name); range != visit.ranges.end())
      figure.whisker = range->second;
    stored.figures.push_back(figure);
  }
}

void add_rows(StoredVisit& stored, const std::vector<measure::Row>& rows, StoredVisits& all) {
  for (const measure::Row& row : rows) {
    if (!row.summary || !std::isfinite(row.summary->median)) continue;
    if (row.status != measure::RowStatus::ok && row.status != measure::RowStatus::early_stopped)
      continue;
    const std::string name =
        row.library == "sluice" ? row.case_name : row.case_name + " · " + row.library;
    StoredFigure figure;
    figure.metric = all.metric({name, row.unit,
                                row.better == measure::Better::higher ? Wish::higher : Wish::lower,
                                Whisker::ci95});
    figure.value = row.summary->median;
    if (const auto& ci = row.summary->ci95; ci && std::isfinite(ci->low) && std::isfinite(ci->high))
      figure.whisker = Range{ci->low, ci->high};
    const bool known = std::ranges::any_of(
        stored.figures, [&](const StoredFigure& one) { return one.metric == figure.metric; });
    if (!known) stored.figures.push_back(figure);
  }
}

/// "quick", "bench transforms": the words before the first flag.
std::string command_words(const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  for (std::size_t i = 1; i < argv.size() && words.size() < 2; ++i) {
    if (argv[i].empty() || argv[i].find_first_of("-/.\\ <") != std::string::npos) break;
    words.push_back(argv[i]);
  }
  return join(words, " ");
}

void add_result_file(StoredVisit& stored, const results::ResultFile& file, StoredVisits& all) {
  add_rows(stored, file.rows, all);
  add_rows(stored, file.canary, all);
  if (stored.version.empty()) stored.version = file.tool.version;
  if (stored.machine_profile.empty()) stored.machine_profile = file.machine_profile;
  if (stored.work.empty()) stored.work = command_words(file.argv);
  // Without a training, equal work is the same command on the same data; cases name the rest.
  if (stored.workload.empty())
    stored.workload = sha256_hex(stored.work + "\n" + file.dataset.hash).substr(0, 8);
  if (stored.timestamp.empty()) stored.timestamp = string_at(file.environment, "timestamp");
  const Json& git = at(file.environment, "git");
  if (stored.commit.empty() || stored.commit == "unknown") {
    stored.commit = string_at(git, "sha", "unknown");
    stored.dirty = at(git, "dirty") == true;
  }
}

void add_results(StoredVisit& stored, const fs::path& folder, StoredVisits& all) {
  std::error_code code;
  if (!fs::is_directory(folder / "results", code)) return;
  const auto paths = results::find(folder);
  if (!paths) {
    if (paths.error().code != Errc::not_found) all.problems.push_back(paths.error().message);
    return;
  }
  for (const fs::path& path : *paths) {
    const auto file = results::read(path);
    if (!file) {
      all.problems.push_back(file.error().message);
      continue;
    }
    if (stored.file.empty()) stored.file = path;
    add_result_file(stored, *file, all);
  }
}

/// A line of a history; the machine and the work are those of its file where it does not say.
StoredVisit promoted_visit(const Visit& visit, const StoredVisit& of_file, StoredVisits& all) {
  StoredVisit stored = of_file;
  stored.timestamp = visit.timestamp;
  stored.commit = visit.commit;
  stored.dirty = visit.dirty;
  stored.base = true;
  if (!visit.workload.empty()) stored.workload = visit.workload;
  add_figures(stored, visit, all);
  return stored;
}

auto order_of(const StoredVisit& visit) {
  return std::tie(visit.machine_profile, visit.workload, visit.timestamp, visit.commit);
}

/// One run, seen in its folder and in a history: no figure that both have differs.
bool same_run(const StoredVisit& a, const StoredVisit& b) {
  if (order_of(a) != order_of(b)) return false;
  bool common = false;
  for (const StoredFigure& one : a.figures)
    for (const StoredFigure& other : b.figures) {
      if (one.metric != other.metric) continue;
      if (one.value != other.value) return false;
      common = true;
    }
  return common;
}

}  // namespace

std::uint32_t StoredVisits::metric(const StoredMetric& metric) {
  const auto known = index_.find(metric.name);
  if (known != index_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(metrics.size());
  index_.emplace(metric.name, index);
  metrics.push_back(metric);
  return index;
}

std::optional<StoredVisit> stored_run(const fs::path& folder, StoredVisits& all) {
  StoredVisit stored;
  const auto files = read_run_files(folder);
  if (!files) {
    all.problems.push_back(files.error().message);
  } else if (files->metrics || files->eval) {
    const Visit visit = visit_of(*files);
    stored.file = folder / (files->metrics ? "metrics.json" : "eval.json");
    stored.machine_profile = files->machine_profile();
    stored.workload = visit.workload;
    stored.work = work_words(*files);
    stored.timestamp = visit.timestamp;
    stored.commit = visit.commit;
    stored.dirty = visit.dirty;
    if (files->metrics) stored.version = string_at(files->metrics->env, "sluice_version");
    add_figures(stored, visit, all);
  }
  add_results(stored, folder, all);
  if (stored.figures.empty()) return std::nullopt;
  return stored;
}

Result<std::vector<fs::path>> run_folders(const fs::path& runs) {
  std::vector<fs::path> folders;
  std::error_code code;
  if (!fs::exists(runs, code)) return folders;
  fs::directory_iterator it(runs, code);
  std::error_code ignored;
  for (const fs::directory_iterator end; !code && it != end; it.increment(code))
    if (it->path().filename().string().front() != '.' && it->is_directory(ignored))
      folders.push_back(it->path());
  if (code)
    return Error{Errc::io, fmt::format("{}: cannot be listed: {}", shown(runs), code.message())};
  std::ranges::sort(folders);
  return folders;
}

Status add_promoted(const fs::path& baselines, StoredVisits& all) {
  SLUICE_TRY(const std::set<std::string> keys,
             baseline_keys(baselines, {kHistoryEnd, kMetricsEnd}));
  std::error_code code;
  for (const std::string& key : keys) {
    const auto paths = baseline_paths(baselines, key);
    if (!paths) {
      all.problems.push_back(paths.error().message);
      continue;
    }
    StoredVisit of_file;
    const auto files = read_stored_files(*paths);
    if (!files) all.problems.push_back(files.error().message);
    if (files && files->metrics) {
      of_file.machine_profile = files->machine_profile();
      of_file.workload = workload_digest(*files);
      of_file.work = work_words(*files);
      of_file.version = string_at(files->metrics->env, "sluice_version");
    } else {  // "<profile>.<digest>"; a profile has dots of its own
      const std::size_t dot = key.rfind('.');
      const bool digest = dot != std::string::npos && key.size() - dot == 9;
      of_file.machine_profile = digest ? key.substr(0, dot) : key;
      of_file.workload = digest ? key.substr(dot + 1) : "";
    }
    if (fs::exists(paths->history, code)) {
      of_file.file = paths->history;
      of_file.version.clear();  // of the last one only
      for (const Visit& visit : read_history(paths->history, all.problems))
        all.visits.push_back(promoted_visit(visit, of_file, all));
    } else if (files && files->metrics) {
      of_file.file = paths->metrics;
      all.visits.push_back(promoted_visit(visit_of(*files), of_file, all));
    }
  }
  return ok;
}

void put_in_order(StoredVisits& all) {
  std::vector<StoredVisit>& visits = all.visits;
  std::ranges::stable_sort(
      visits, [](const StoredVisit& a, const StoredVisit& b) { return order_of(a) < order_of(b); });
  std::vector<StoredVisit> kept;
  for (StoredVisit& one : visits) {
    StoredVisit* twin = nullptr;
    for (auto at = kept.rbegin(); at != kept.rend() && order_of(*at) == order_of(one); ++at)
      if (twin == nullptr && same_run(*at, one)) twin = &*at;
    if (twin == nullptr) {
      kept.push_back(std::move(one));
      continue;
    }
    const bool base = twin->base || one.base;
    if (one.figures.size() > twin->figures.size()) *twin = std::move(one);
    twin->base = base;
  }
  visits = std::move(kept);
}

Result<StoredVisits> stored_visits(const fs::path& runs, const fs::path& baselines) {
  StoredVisits all;
  SLUICE_TRY(const std::vector<fs::path> folders, run_folders(runs));
  for (const fs::path& folder : folders)
    if (auto visit = stored_run(folder, all)) all.visits.push_back(*std::move(visit));
  SLUICE_CHECK(add_promoted(baselines, all));
  put_in_order(all);
  return all;
}

}  // namespace sluice::gate
