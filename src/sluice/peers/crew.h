// sluice/peers/crew.h - the workers of several libraries, kept alive over many cases and measured
// in turn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/policy.h"
#include "sluice/measure/record.h"
#include "sluice/measure/runner.h"
#include "sluice/measure/worker/messages.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::peers {

/// One library of the crew.
struct Member {
  std::string library;
  std::vector<std::string> command;                // argv of its worker program
  std::map<std::string, std::string> environment;  // added to ours
  std::string device = "cpu";                      // what `configure` is asked for
  std::string absent;  // why it cannot be started; its rows are then `unsupported` with this reason
};

/// Its library, command and variables; the case is missing yet.
measure::SubjectSpec spec_of(const Member& member);

/// A library that is known not to work in a case: what its row says without being asked.
struct Excluded {
  measure::RowStatus status = measure::RowStatus::unsupported;
  std::string reason;
};

/// One case, measured in every member.
struct CrewCase {
  std::string name;
  std::map<std::string, std::string> params;
  Json spec;                                 // sent with `prepare`
  std::map<std::string, Excluded> excluded;  // by library
};

struct CrewOptions {
  std::vector<Member> members;
  measure::Policy policy;  // runs: blocks per case; samples_per_run is taken as 1
  std::string thread_policy;
  int threads = 1;                  // asked for; what `configure` sends
  std::optional<double> cpu_limit;  // cpu time over wall time above which a policy is violated
  measure::Load load;
  std::string unit = "img/s";
  int preflight_items = 10;
  double preflight_limit_s = 60;        // a preflight that takes longer stops the row, too
  double start_timeout_s = 600;         // import, load and convert: slow libraries, large data
  std::int64_t memory_limit_bytes = 0;  // for all workers together; 0: no limit
};

/// Importing a Python library and converting its inputs takes seconds, so a worker serves all
/// cases. `policy.runs` processes per library (fewer where memory does not allow) live side by
/// side, and run r of every case is taken in process r: runs are then fresh processes for each
/// other, as everywhere in Sluice. While one works all others are stopped.
class Crew {
 public:
  Crew(CrewOptions options, const measure::RunnerContext& context);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Starts every member; those that cannot be started have all their rows say why. Libraries
  /// whose first worker no longer fits into the memory limit are left out and returned: they want a
  /// crew of their own. Error: interrupted only.
  Result<std::vector<std::string>> start();

  /// One row per member, in order (libraries that did not fit are left out). A crash, a hang or a
  /// wrong output costs the row of that library only. Error: interrupted only; nothing of the case
  /// is kept then. `so_far`: rows of an earlier visit; one that is ok gets the runs that are
  /// missing, any other stays as it is.
  Result<std::vector<measure::Row>> measure(const CrewCase& one, int case_number,
                                            const std::vector<measure::Row>& so_far = {});

  [[nodiscard]] int processes_per_library() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::peers
