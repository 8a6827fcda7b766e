// sluice/backend/gcp/run.cpp - the life of a visit to the cloud, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/run.h"

#include "sluice/backend/gcp/cleaner.h"
#include "sluice/backend/gcp/fleet.h"
#include "sluice/backend/gcp/remote_paths.h"
#include "sluice/backend/gcp/stage.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/measure/interrupt.h"
#include "sluice/results/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>

namespace sluice::backend::gcp {
namespace {

namespace fs = std::filesystem;

/// The session that wrote these down is dead, for we hold the lock of its folder.
Status remove_open(const Gcloud& gcloud, const std::vector<MachineRecord>& before,
                   std::vector<std::string>& swept) {
  for (const MachineRecord& record : before) {
    const bool known = std::find(swept.begin(), swept.end(), record.name) != swept.end();
    if (!is_open(record) || known) continue;
    SLUICE_CHECK(remove_machine(gcloud, record, false));
    swept.push_back(record.name);
  }
  return ok;
}

class Visit {
 public:
  Visit(const std::vector<Task>& tasks, const GcpOptions& options)
      : tasks_(tasks), options_(options) {}

  Result<GcpResult> run() {
    SLUICE_CHECK(check_together(tasks_));
    for (const Task& task : tasks_) {
      SLUICE_TRY(Wanted one, wanted_machine(task));
      wanted_.push_back(std::move(one));
    }
    SLUICE_TRY(std::vector<Wave> all, make_waves(wanted_, options_.quota));
    SLUICE_TRY(const Bundles bundles, look_at_bundles(options_.bundles));
    SLUICE_TRY(Gcloud gcloud, Gcloud::find(interrupt_.fd()));
    results::RunFolder::Options where;
    where.out = options_.out;
    where.resume = options_.resume;
    where.name = options_.name;
    where.profile = "gcp";
    SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));
    SLUICE_TRY(const std::vector<MachineRecord> before, read_last_run(folder.path()));

    GcpResult result;
    result.folder = folder.path();
    SLUICE_TRY(result.swept, sweep(gcloud, *tasks_.front().plan.config.cloud.project));
    SLUICE_CHECK(remove_open(gcloud, before, result.swept));
    facts_.session = new_id();
    facts_.attached = options_.attached;
    facts_.bundle_digest = bundles.digest;
    facts_.bundles = bundles.count;
    facts_.run_flags = options_.run_flags;
    facts_.argv = options_.argv;
    facts_.now = std::time(nullptr);
    SLUICE_TRY(Ledger ledger, Ledger::begin(facts_.session, folder.path()));
    const FolderGuard stage(folder.path() / "stage");
    const FolderGuard pulled(folder.path() / "pulled");
    Fleet fleet(tasks_, options_, facts_, gcloud, ledger, folder.path());
    fleet.adopt(before);
    const Status worked = work(fleet, result);
    gcloud.finish_whatever_comes();
    result.left = fleet.clean_up();
    ledger.end();
    result.tasks = fleet.results();
    result.interrupted = interrupt_.requested();
    if (!worked && worked.error().code != Errc::interrupted) {
      if (result.left.empty()) return worked.error();
      log::error("{}", worked.error().message);
    }
    return result;
  }

 private:
  /// Those that need a machine, in waves.
  Result<std::vector<Wave>> open_waves(const Fleet& fleet) const {
    std::vector<std::size_t> places;
    std::vector<Wanted> open;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (!fleet.needs_machine(t)) continue;
      places.push_back(t);
      open.push_back(wanted_[t]);
    }
    SLUICE_TRY(std::vector<Wave> waves, make_waves(open, options_.quota));
    for (Wave& wave : waves) {
      for (std::size_t& place : wave)
        place = places[place];
    }
    return waves;
  }

  Status work(Fleet& fleet, GcpResult& result) {
    if (fleet.any_running()) {  // of a detached run
      SLUICE_CHECK(options_.attached ? fleet.wait_for_all() : fleet.look_once());
      if (fleet.any_running() || fleet.any_failed()) return ok;
    }
    SLUICE_TRY(const std::vector<Wave> waves, open_waves(fleet));
    result.waves = waves.size();
    for (std::size_t w = 0; w < waves.size(); ++w) {
      log::info("wave {} of {}: {} machines", w + 1, waves.size(), waves[w].size());
      for (const std::size_t task : waves[w])
        SLUICE_CHECK(fleet.launch(task));
      if (!options_.attached) {
        if (interrupt_.requested()) return Error{Errc::interrupted, "interrupted"};
        fleet.hand_over();
        return ok;  // --resume collects them, and starts the next wave
      }
      SLUICE_CHECK(fleet.wait_for_all());
      if (fleet.any_failed()) return ok;  // what went wrong once would go wrong again, and costs
    }
    return ok;
  }

  const std::vector<Task>& tasks_;
  const GcpOptions& options_;
  measure::Interrupt interrupt_;
  std::vector<Wanted> wanted_;
  VisitFacts facts_;
};

}  // namespace

Status check_together(const std::vector<Task>& tasks) {
  if (tasks.empty()) return usage_error("--config: no configuration");
  std::set<std::string> names;
  for (const Task& task : tasks) {
    const std::string& project = *task.plan.config.cloud.project;
    const std::string& first = *tasks.front().plan.config.cloud.project;
    if (project != first) {
      return usage_error(fmt::format("{}: cloud.project {} is not {} of {}; one visit has one",
                                     printable(task.name), printable(project), printable(first),
                                     printable(tasks.front().name)));
    }
    if (!names.insert(task.name).second) {
      return usage_error(
          fmt::format("--config {}: two configurations have this file name; each "
                      "needs a folder of its own",
                      printable(task.name)));
    }
    if (task.plan.jobs.empty() || task.plan.jobs.front().cases.empty()) {
      return Error{Errc::invalid_config,
                   fmt::format("{}: the plan is empty: no library, or no transform, is chosen",
                               printable(task.name))};
    }
  }
  return ok;
}

const char* to_string(TaskState state) {
  switch (state) {
    case TaskState::not_started:
      return "not started";
    case TaskState::already_finished:
      return "already finished";
    case TaskState::running:
      return "running";
    case TaskState::finished:
      return "finished";
    case TaskState::failed_rows:
      return "rows failed";
    case TaskState::timed_out:
      return "timed out";
    case TaskState::failed:
      return "failed";
  }
  return "failed";
}

Result<GcpResult> run_gcp(const std::vector<Task>& tasks, const GcpOptions& options) {
  return Visit(tasks, options).run();
}

}  // namespace sluice::backend::gcp
