// sluice/backend/gcp/fleet.h - the machines of one visit: made, watched, emptied, deleted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/gcp/gcloud.h"
#include "sluice/backend/gcp/ledger.h"
#include "sluice/backend/gcp/run.h"

#include <set>
#include <string>
#include <vector>

namespace sluice::backend::gcp {

/// Errors of its functions end the visit (the user asked to stop, the disk is full); what goes
/// wrong with one machine is the result of its task.
class Fleet {
 public:
  Fleet(const std::vector<Task>& tasks, const GcpOptions& options, const VisitFacts& facts,
        const Gcloud& gcloud, Ledger& ledger, std::filesystem::path folder);

  /// Machines that a detached run left, and tasks whose rows are all here.
  void adopt(const std::vector<MachineRecord>& before);
  [[nodiscard]] bool needs_machine(std::size_t task) const;
  [[nodiscard]] bool any_running() const;
  [[nodiscard]] bool any_failed() const;

  Status launch(std::size_t task);
  /// Until each has ended, was pulled, validated and deleted.
  Status wait_for_all();
  /// The same for those that have ended already.
  Status look_once();
  /// They end by themselves: from now on nobody here deletes them.
  void hand_over();
  /// Deletes whatever is not confirmed to be gone, and fetches what it had finished. Returns what
  /// may be left.
  std::vector<std::string> clean_up();
  [[nodiscard]] const std::vector<TaskResult>& results() const { return results_; }

 private:
  struct Live {
    std::size_t task = 0;
    MachineRecord record;
    std::int64_t end = 0;  // Unix seconds; not waited for longer
    int missing = 0;       // looks in a row that did not find it
    bool ended = false;
  };

  Status create(Live& live, Machine& machine, const std::vector<std::string>& zones);
  /// One look at every machine that runs. An Error: the look failed.
  Status look();
  void collect(Live& live, bool marked);
  void judge(Live& live, bool marked);
  Status pull(const Live& live);
  Status remove(Live& live, bool certain);
  [[nodiscard]] bool is_kept(const Live& live) const;
  void fail(std::size_t task, TaskState state, const std::string& reason);
  [[nodiscard]] std::filesystem::path folder_of(std::size_t task) const;

  const std::vector<Task>& tasks_;
  const GcpOptions& options_;
  const VisitFacts& facts_;
  const Gcloud& gcloud_;
  Ledger& ledger_;
  std::filesystem::path folder_;
  std::vector<TaskResult> results_;
  std::vector<Live> live_;
  std::set<std::string> uploaded_;  // folders of the program's archives
};

}  // namespace sluice::backend::gcp
