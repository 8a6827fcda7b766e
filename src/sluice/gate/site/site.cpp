// sluice/gate/site/site.cpp - visits apart by machine and work, figures into columns.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/site/site.h"

#include "sluice/core/thread_pool.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

namespace sluice::gate {
namespace {

SiteGroup group_of(const StoredVisits& stored, std::size_t first, std::size_t count) {
  SiteGroup group{first, count, {}};
  std::map<std::string, SiteSeries> by_name;
  for (std::size_t i = 0; i < count; ++i) {
    for (const StoredFigure& figure : stored.visits[first + i].figures) {
      SiteSeries& series = by_name[stored.metrics[figure.metric].name];
      series.metric = figure.metric;
      series.at.push_back(static_cast<std::uint32_t>(i));
      series.values.push_back(figure.value);
      series.whiskers.push_back(figure.whisker);
    }
  }
  for (auto& [name, series] : by_name)
    group.series.push_back(std::move(series));
  return group;
}

Status find_changes(SiteSeries& series, const StoredVisits& stored, std::size_t first,
                    const stats::ChangePointOptions& options) {
  if (std::ranges::any_of(series.values, [](double value) { return value <= 0; })) return ok;
  SLUICE_TRY(series.changes, level_changes(series.values, options));
  for (TrendChange& change : series.changes) {
    change.last_commit = stored.visits[first + series.at[change.index - 1]].commit;
    change.first_commit = stored.visits[first + series.at[change.index]].commit;
  }
  return ok;
}

}  // namespace

Result<Site> site_of(StoredVisits stored, const stats::ChangePointOptions& options,
                     unsigned threads) {
  Site site;
  site.stored = std::move(stored);
  const std::vector<StoredVisit>& visits = site.stored.visits;
  const auto work = [&](std::size_t i) {
    return std::tie(visits[i].machine_profile, visits[i].workload);
  };
  for (std::size_t first = 0; first < visits.size();) {
    std::size_t end = first;
    while (end < visits.size() && work(end) == work(first))
      ++end;
    site.groups.push_back(group_of(site.stored, first, end - first));
    first = end;
  }
  std::ranges::stable_sort(site.groups, [&](const SiteGroup& a, const SiteGroup& b) {
    return visits[a.first + a.count - 1].timestamp > visits[b.first + b.count - 1].timestamp;
  });
  std::vector<std::pair<SiteGroup*, SiteSeries*>> all;
  for (SiteGroup& group : site.groups)
    for (SiteSeries& series : group.series)
      all.emplace_back(&group, &series);
  Status failed = ok;
  std::mutex one_at_a_time;
  ThreadPool pool(std::max(threads, 1U));
  pool.parallel_for(all.size(), [&](std::size_t i, unsigned) {
    const Status done = find_changes(*all[i].second, site.stored, all[i].first->first, options);
    if (done) return;
    const std::scoped_lock lock(one_at_a_time);
    failed = done;
  });
  SLUICE_CHECK(failed);
  return site;
}

}  // namespace sluice::gate
