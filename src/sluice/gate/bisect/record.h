// sluice/gate/bisect/record.h - a search on the disk: the question, every pair, the answer; read
// back to go on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/gate/bisect/search.h"
#include "sluice/measure/record.h"
#include "sluice/stats/sample.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

struct BisectCommit {
  std::string sha;
  std::string subject;  // first line of its message
};

/// A search is continued only where all of this is the same.
struct BisectQuestion {
  std::string good, bad;  // commits
  std::size_t commits = 0;
  std::string build;
  std::string command;
  std::string folder;  // that the command runs in, below the root
  std::string metric;
  measure::Better better = measure::Better::lower;  // of a printed number
  double alpha = 0, tau = 0, floor = 0;
  int most_pairs = 0;
};
Json to_json(const BisectQuestion& question);

/// What was measured at one revision, pair by pair.
struct BisectPairs {
  std::vector<double> a, b;  // GOOD, the revision
  std::vector<std::string> order;
};

struct BisectRecord {
  BisectQuestion question;
  std::uint64_t order_seed = 0;
  std::vector<BisectCommit> commits;  // 0 is GOOD
  std::string unit;                   // of the metric; known when it was measured
  measure::Better better = measure::Better::lower;
  BisectState state;
  std::vector<BisectPairs> pairs;  // per probe of the state
  std::string machine_profile;
  std::string timestamp;
  double elapsed_s = 0;
};

/// change_between() of the stored pairs.
std::optional<stats::Estimate> change_of_guilty(const BisectRecord& record);

/// One sentence, also of a search that has not ended.
std::string summary_of(const BisectRecord& record);
/// The command that measures the commit named beside the one before it; empty: none is named.
std::string reproduce(const BisectRecord& record);

/// All of it; `result` is null while searching.
Json to_json(const BisectRecord& record);

/// A probe as it was stored.
struct StoredProbe {
  std::size_t revision = 0;
  std::string skipped;  // the reason; empty: measured
  BisectPairs pairs;
};
struct StoredBisect {
  std::uint64_t order_seed = 0;
  std::string unit;
  measure::Better better = measure::Better::lower;
  double elapsed_s = 0;
  bool ended = false;
  std::vector<StoredProbe> probes;
};
/// Of a file called `name`. Errc::invalid_input: it is none of ours, or damaged; Errc::usage: it
/// asks another question, and which parts differ.
Result<StoredBisect> stored_bisect(const Json& json, const BisectQuestion& question,
                                   const std::string& name);

}  // namespace sluice::gate
