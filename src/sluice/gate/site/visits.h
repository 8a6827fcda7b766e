// sluice/gate/site/visits.h - every stored visit with all its figures: run folders and promoted
// runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/gate/baseline/history.h"
#include "sluice/results/result_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::gate {

enum class Wish { higher, lower, none };
enum class Whisker { ci95, range };  // an interval of the mean, or the range of the runs

/// What is said once of a figure, however many visits have it.
struct StoredMetric {
  std::string name;  // of a gate line, or case and library of a row
  std::string unit;
  Wish wish = Wish::none;
  Whisker whisker = Whisker::range;
};

struct StoredFigure {
  std::uint32_t metric = 0;  // index into StoredVisits::metrics
  double value = 0;
  std::optional<Range> whisker;
};

struct StoredVisit {
  std::string machine_profile, workload;  // the digest of what was computed
  std::string work;                       // the same in words; empty: not told
  std::string timestamp, commit;
  bool dirty = false;
  bool base = false;  // promoted: later runs were judged against it
  std::string version;
  std::filesystem::path file;  // where the numbers stand
  std::vector<StoredFigure> figures;
};

class StoredVisits {
 public:
  std::vector<StoredMetric> metrics;
  std::vector<StoredVisit> visits;
  std::vector<std::string> problems;  // files and lines that were left out, one line each

  std::uint32_t metric(const StoredMetric& metric);  // its index; made when it is new

 private:
  std::map<std::string, std::uint32_t, std::less<>> index_;
};

/// What a run folder holds: figures of metrics.json and eval.json, rows of result files. Nothing
/// where it holds none of them.
std::optional<StoredVisit> stored_run(const std::filesystem::path& folder, StoredVisits& all);

/// Run folders of `runs` and promoted runs of `baselines`, by profile, workload and time; a visit
/// that is in both counts once, as base. What cannot be read is among the problems. A folder that
/// is not there holds none, one that cannot be listed is an error.
Result<StoredVisits> stored_visits(const std::filesystem::path& runs,
                                   const std::filesystem::path& baselines);

/// The two halves of that, for who keeps what was read.
Result<std::vector<std::filesystem::path>> run_folders(const std::filesystem::path& runs);
Status add_promoted(const std::filesystem::path& baselines, StoredVisits& all);
void put_in_order(StoredVisits& all);

}  // namespace sluice::gate
