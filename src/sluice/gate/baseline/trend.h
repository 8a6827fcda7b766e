// sluice/gate/baseline/trend.h - one figure over all visits of a machine profile, and where it
// changed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/history.h"
#include "sluice/stats/change_points.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::gate {

/// A lasting change of level between two visits that follow each other.
struct TrendChange {
  std::size_t index = 0;         // of the first visit after it
  double before = 0, after = 0;  // geometric means of the levels
  double change_pct = 0;         // after against before
  double p = 1;
  std::string last_commit, first_commit;  // the cause lies after the one, up to the other
  bool went_away = false;                 // a later change took at least three quarters of it back
};

struct Trend {
  std::string figure;
  std::vector<Visit> visits;  // with the figure above 0, oldest first
  std::vector<TrendChange> changes;
};

/// Change points of the logarithms of `values`, all above 0; their commits are left empty.
Result<std::vector<TrendChange>> level_changes(const std::vector<double>& values,
                                               const stats::ChangePointOptions& options = {});

/// Change points of the logarithms. Visits are put in order of time; equal ones count once.
Result<Trend> trend_of(std::vector<Visit> visits, const std::string& figure,
                       const stats::ChangePointOptions& options = {});

/// A run folder's visit, with the profile it belongs to.
struct FoundVisit {
  std::string machine_profile;
  Visit visit;
};
/// Of every folder in `runs` that holds a metrics.json; files that cannot be read are named in
/// `problems`. A folder that is not there holds none.
Result<std::vector<FoundVisit>> find_visits(const std::filesystem::path& runs,
                                            std::vector<std::string>& problems);

Json to_json(const Trend& trend);

}  // namespace sluice::gate
