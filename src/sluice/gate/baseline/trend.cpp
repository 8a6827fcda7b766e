// sluice/gate/baseline/trend.cpp - visits in order, their change points, and which of them were
// taken back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/trend.h"

#include "sluice/core/text.h"
#include "sluice/gate/baseline/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <tuple>

namespace sluice::gate {
namespace {

namespace fs = std::filesystem;

constexpr double kTakenBack = 0.25;  // share of a change that may be left when it went away

void mark_gone(std::vector<TrendChange>& changes) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const double level = std::log(changes[i].before);
    const double change = std::abs(std::log(changes[i].after) - level);
    for (std::size_t j = i + 1; j < changes.size(); ++j) {
      if (std::abs(std::log(changes[j].after) - level) <= kTakenBack * change)
        changes[i].went_away = true;
    }
  }
}

}  // namespace

Result<std::vector<TrendChange>> level_changes(const std::vector<double>& values,
                                               const stats::ChangePointOptions& options) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values)
    logs.push_back(std::log(value));
  SLUICE_TRY(const auto points, stats::change_points(logs, options));
  std::vector<TrendChange> changes;
  for (const stats::ChangePoint& point : points) {
    TrendChange change;
    change.index = point.index;
    change.before = std::exp(point.before);
    change.after = std::exp(point.after);
    change.change_pct = 100 * std::expm1(point.after - point.before);
    change.p = point.p;
    changes.push_back(std::move(change));
  }
  mark_gone(changes);
  return changes;
}

Result<Trend> trend_of(std::vector<Visit> visits, const std::string& figure,
                       const stats::ChangePointOptions& options) {
  Trend trend;
  trend.figure = figure;
  std::erase_if(visits, [&](const Visit& visit) {
    const auto at = visit.figures.find(figure);
    return at == visit.figures.end() || at->second <= 0;
  });
  const auto key = [&](const Visit& visit) {
    return std::tie(visit.timestamp, visit.commit, visit.figures.at(figure));
  };
  std::ranges::stable_sort(visits, [&](const Visit& a, const Visit& b) { return key(a) < key(b); });
  visits.erase(std::unique(visits.begin(), visits.end(),
                           [&](const Visit& a, const Visit& b) { return key(a) == key(b); }),
               visits.end());
  std::vector<double> values;
  for (const Visit& visit : visits)
    values.push_back(visit.figures.at(figure));
  SLUICE_TRY(trend.changes, level_changes(values, options));
  for (TrendChange& change : trend.changes) {
    change.last_commit = visits[change.index - 1].commit;
    change.first_commit = visits[change.index].commit;
  }
  trend.visits = std::move(visits);
  return trend;
}

Result<std::vector<FoundVisit>> find_visits(const fs::path& runs,
                                            std::vector<std::string>& problems) {
  std::vector<FoundVisit> found;
  std::error_code code;
  if (!fs::exists(runs, code)) return found;
  fs::directory_iterator it(runs, code);
  if (code)
    return Error{Errc::io,
                 fmt::format("{}: cannot be listed: {}", printable(runs.string()), code.message())};
  std::vector<fs::path> folders;
  for (const fs::directory_iterator end; it != end; it.increment(code)) {
    if (code) break;
    if (fs::exists(it->path() / "metrics.json", code)) folders.push_back(it->path());
  }
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) {
    const auto files = read_run_files(folder);
    if (!files) {
      problems.push_back(files.error().message);
      continue;
    }
    found.push_back({files->machine_profile(), visit_of(*files)});
  }
  return found;
}

Json to_json(const Trend& trend) {
  Json visits = Json::array();
  for (const Visit& visit : trend.visits)
    visits.push_back(Json{{"timestamp", visit.timestamp},
                          {"commit", visit.commit},
                          {"dirty", visit.dirty},
                          {"value", visit.figures.at(trend.figure)},
                          {"source", visit.source}});
  Json changes = Json::array();
  for (const TrendChange& change : trend.changes)
    changes.push_back(Json{{"index", change.index},
                           {"timestamp", trend.visits[change.index].timestamp},
                           {"before", change.before},
                           {"after", change.after},
                           {"change_pct", change.change_pct},
                           {"p", change.p},
                           {"last_commit_before", change.last_commit},
                           {"first_commit_after", change.first_commit},
                           {"went_away", change.went_away}});
  return Json{
      {"metric", trend.figure}, {"visits", std::move(visits)}, {"changes", std::move(changes)}};
}

}  // namespace sluice::gate
