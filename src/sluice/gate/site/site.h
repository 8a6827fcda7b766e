// sluice/gate/site/site.h - stored visits as series: one group per machine profile and workload,
// one series per figure, with its change points.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/trend.h"
#include "sluice/gate/site/visits.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::gate {

struct SiteSeries {
  std::uint32_t metric = 0;
  std::vector<std::uint32_t> at;  // which visits of the group have it, ascending
  std::vector<double> values;
  std::vector<std::optional<Range>> whiskers;
  std::vector<TrendChange> changes;  // their index counts in `at`
};

struct SiteGroup {
  std::size_t first = 0, count = 0;  // its visits, oldest first: of StoredVisits::visits
  std::vector<SiteSeries> series;    // in order of name
};

struct Site {
  StoredVisits stored;
  std::vector<SiteGroup> groups;  // that visited last comes first
};

/// Change points as `sluice history` finds them: of the logarithms. A series with a value of 0 or
/// below has none. `threads` share the series.
Result<Site> site_of(StoredVisits stored, const stats::ChangePointOptions& options,
                     unsigned threads);

}  // namespace sluice::gate
