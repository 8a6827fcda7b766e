// sluice/gate/baseline/history.h - visits to a machine: the gated figures of a run beside its
// canary, one line of JSON each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/gate/baseline/compare.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

using results::CanarySpeed;

/// Lowest and highest.
struct Range {
  double low = 0, high = 0;

  bool operator==(const Range&) const = default;
};

struct Visit {
  std::string timestamp;  // of the run, UTC
  std::string commit = "unknown";
  bool dirty = false;
  std::string source;                     // where it was read: a folder, or "promoted"
  std::map<std::string, double> figures;  // by the names of gate lines; finite ones only
  std::map<std::string, Range> ranges;    // of some figures: over the runs of the visit
  std::optional<CanarySpeed> canary;
  std::string last_block;  // as training_work.h names it; empty: not told
  std::string workload;    // its digest, see workload.h; empty: not told
};

/// The figures of a run's files. What was not measured is not among them.
Visit visit_of(const RunFiles& files);

Json to_json(const CanarySpeed& canary);
/// Nothing for null; nothing too when a part is no number above 0.
std::optional<CanarySpeed> canary_from_json(const Json& json);

Json to_json(const Visit& visit);
/// `name` is what errors call it.
Result<Visit> visit_from_json(const Json& json, const std::string& name);

/// Every line of a history file, oldest first; none when there is no such file. A broken line (the
/// file was cut off) is an error that names it.
Result<std::vector<Visit>> read_history(const std::filesystem::path& path);
/// The same for who shows what there is: every sound line, the others named in `problems`.
std::vector<Visit> read_history(const std::filesystem::path& path,
                                std::vector<std::string>& problems);

}  // namespace sluice::gate
