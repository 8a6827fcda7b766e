// sluice/backend/gcp/fleet.cpp - what is made is written down first, and struck out when it is
// gone.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/fleet.h"

#include "sluice/backend/gcp/cleaner.h"
#include "sluice/backend/gcp/remote_paths.h"
#include "sluice/backend/gcp/stage.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace sluice::backend::gcp {
namespace {

namespace fs = std::filesystem;

constexpr int kMissingLooks = 3;     // a list may lag; three agree
constexpr int kFailedLooks = 12;     // in a row, ever further apart: half an hour
constexpr double kMostBackOff = 10;  // times the usual time between looks
constexpr int kTimeoutCode = 124;    // of `timeout`
constexpr int kInvalidCode = 5;      // of sluice: complete, but rows failed

bool has_stopped(const std::string& status) {
  return status == "TERMINATED" || status == "STOPPED" || status == "SUSPENDED";
}

Error interrupted_visit() {
  return {Errc::interrupted, "interrupted"};
}

}  // namespace

Fleet::Fleet(const std::vector<Task>& tasks, const GcpOptions& options, const VisitFacts& facts,
             const Gcloud& gcloud, Ledger& ledger, fs::path folder)
    : tasks_(tasks),
      options_(options),
      facts_(facts),
      gcloud_(gcloud),
      ledger_(ledger),
      folder_(std::move(folder)) {
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    TaskResult result;
    result.name = tasks[t].name;
    result.machine_type = tasks[t].plan.config.cloud.machine_type;
    result.zone = tasks[t].plan.config.cloud.zone;
    result.folder = folder_of(t);
    const bool all = has_all_rows(tasks[t].plan, result.folder);
    if (all && options.check(result.folder, tasks[t].plan))
      result.state = TaskState::already_finished;
    results_.push_back(std::move(result));
  }
}

fs::path Fleet::folder_of(std::size_t task) const {
  return tasks_[task].folder.empty() ? folder_ : folder_ / tasks_[task].folder;
}

bool Fleet::needs_machine(std::size_t task) const {
  return results_[task].state == TaskState::not_started;
}

bool Fleet::any_running() const {
  return std::any_of(live_.begin(), live_.end(), [](const Live& live) { return !live.ended; });
}

bool Fleet::any_failed() const {
  return std::any_of(results_.begin(), results_.end(), [](const TaskResult& result) {
    return result.state == TaskState::failed || result.state == TaskState::timed_out;
  });
}

void Fleet::fail(std::size_t task, TaskState state, const std::string& reason) {
  results_[task].state = state;
  results_[task].reason = reason;
  log::warn("{}: {}", printable(results_[task].name), reason);
}

void Fleet::adopt(const std::vector<MachineRecord>& before) {
  for (const MachineRecord& record : before) {
    if (record.state != MachineState::handed_over) continue;
    const auto task = std::find_if(tasks_.begin(), tasks_.end(),
                                   [&](const Task& one) { return one.name == record.task; });
    if (const Status noted = ledger_.put(record); !noted) log::warn("{}", noted.error().message);
    if (task == tasks_.end()) {
      log::warn("{}: runs for {}, which is not among the configurations of this visit",
                printable(record.name), printable(record.task));
      continue;
    }
    const auto t = static_cast<std::size_t>(task - tasks_.begin());
    if (results_[t].state == TaskState::already_finished) continue;
    results_[t].state = TaskState::running;
    results_[t].instance = record.name;
    results_[t].zone = record.zone;
    results_[t].prefix = record.prefix;
    live_.push_back({t, record, record.expires, 0, false});
  }
}

Status Fleet::launch(std::size_t task) {
  const Task& one = tasks_[task];
  const bool resume = has_some_rows(one.plan, folder_of(task));
  SLUICE_TRY(Machine machine, make_machine(one, facts_, new_id(), resume));
  const fs::path bundles = folder_ / "stage" / "bundles";
  if (!uploaded_.contains(machine.bundle_prefix)) {
    SLUICE_CHECK(write_bundles(options_.bundles, bundles));
    const auto sent = gcloud_.run(upload(bundles, machine.bundle_prefix));
    if (!sent && sent.error().code == Errc::interrupted) return sent.error();
    if (!sent) {
      fail(task, TaskState::failed, sent.error().message);
      return ok;
    }
    uploaded_.insert(machine.bundle_prefix);
  }
  const fs::path stage = folder_ / "stage" / "jobs" / machine.spec.name;
  SLUICE_CHECK(write_stage(machine, stage, folder_of(task), resume));
  const auto sent = gcloud_.run(upload(stage, under(machine.prefix, kJobFolder)));
  if (!sent && sent.error().code == Errc::interrupted) return sent.error();
  if (!sent) {
    fail(task, TaskState::failed, sent.error().message);
    return ok;
  }
  machine.spec.stage = stage;
  Live live;
  live.task = task;
  live.record = {one.name,
                 machine.run_id,
                 machine.spec.name,
                 machine.spec.project,
                 machine.spec.zone,
                 machine.spec.machine_type,
                 machine.prefix,
                 one.folder.generic_string(),
                 "",
                 MachineState::planned,
                 machine.expires};
  live.end = machine.expires;
  results_[task].instance = machine.spec.name;
  results_[task].prefix = machine.prefix;
  std::vector<std::string> zones = {machine.spec.zone};
  for (const std::string& zone : options_.more_zones)
    if (zone != machine.spec.zone) zones.push_back(zone);
  return create(live, machine, zones);
}

Status Fleet::create(Live& live, Machine& machine, const std::vector<std::string>& zones) {
  for (std::size_t z = 0; z < zones.size(); ++z) {
    machine.spec.zone = live.record.zone = results_[live.task].zone = zones[z];
    live.record.state = MachineState::creating;
    SLUICE_CHECK(ledger_.put(live.record));  // before the call: a kill in it leaves a note
    const auto made = gcloud_.run(create_instance(machine.spec));
    if (made) {
      live.record.state = MachineState::running;
      results_[live.task].state = TaskState::running;
      live_.push_back(live);
      return ledger_.put(live.record);
    }
    if (made.error().code == Errc::interrupted) {
      live.ended = true;
      live_.push_back(live);  // clean_up() deletes it
      return made.error();
    }
    const bool elsewhere = is_stock_out(made.error()) && z + 1 < zones.size();
    if (!elsewhere) fail(live.task, TaskState::failed, made.error().message);
    if (const Status removed = remove(live, false); !removed) {
      live.ended = true;
      live_.push_back(live);
      return removed.error().code == Errc::interrupted ? removed : Status(ok);
    }
    if (!elsewhere) return ok;
    log::info("{} has no {} left; {} is asked", zones[z], live.record.machine_type, zones[z + 1]);
  }
  return ok;
}

Status Fleet::look() {
  if (live_.empty()) return ok;
  SLUICE_TRY(const std::vector<Instance> listed,
             instances(gcloud_, list_instances(live_.front().record.project,
                                               label_filter(kLabel, kLabelValue))));
  for (Live& live : live_) {
    if (live.ended) continue;
    SLUICE_TRY(const std::string objects, gcloud_.run(list_objects(live.record.prefix)));
    bool marked = false;
    for (const std::string& line : split(objects, '\n')) {
      const std::string_view name = trimmed(line);
      marked = marked || name == under(live.record.prefix, kDone) ||
               name == under(live.record.prefix, kFailed);
    }
    const bool there = std::any_of(listed.begin(), listed.end(), [&](const Instance& instance) {
      return instance.name == live.record.name && !has_stopped(instance.status);
    });
    live.missing = there ? 0 : live.missing + 1;
    const bool lost = live.missing >= kMissingLooks || std::time(nullptr) > live.end;
    if (marked || lost) collect(live, marked);
  }
  return ok;
}

Status Fleet::look_once() {
  const Status looked = look();
  if (!looked && looked.error().code != Errc::interrupted)
    return Error{Errc::io, looked.error().message};
  return looked;
}

Status Fleet::wait_for_all() {
  int failed = 0;
  while (any_running()) {
    const Status looked = look();
    if (!looked && looked.error().code == Errc::interrupted) return looked;
    failed = looked ? 0 : failed + 1;
    if (failed == kFailedLooks) {
      for (Live& live : live_) {
        if (live.ended) continue;
        fail(live.task, TaskState::failed, looked.error().message);
        live.ended = true;
      }
      return ok;
    }
    if (!looked) log::info("{}; looked for again", looked.error().message);
    const double back_off = std::min<double>(kMostBackOff, 1 + failed);
    if (any_running() && !gcloud_.wait(gcloud_.pace().poll_s * back_off))
      return interrupted_visit();
  }
  return ok;
}

Status Fleet::pull(const Live& live) {
  const FolderGuard pulled(folder_ / "pulled" / live.record.name);
  std::error_code ignored;
  fs::remove_all(pulled.path(), ignored);
  SLUICE_CHECK(create_folders(pulled.path()));
  auto came = gcloud_.run(download(live.record.prefix, pulled.path()));
  if (!came) return came.error();
  return take_pulled(pulled.path(), folder_of(live.task));
}

/// What the results that came say of the task.
void Fleet::judge(Live& live, bool marked) {
  const std::size_t task = live.task;
  const fs::path folder = folder_of(task);
  const std::optional<int> code = exit_code_in(folder);
  if (!marked && std::time(nullptr) > live.end) {
    fail(task, TaskState::timed_out,
         fmt::format("{} passed its deadline without a word", live.record.name));
  } else if (!marked || !code) {
    fail(task, TaskState::failed,
         fmt::format("{} went away before it said how it ended; what it had finished is kept",
                     live.record.name));
  } else if (*code == kTimeoutCode) {
    fail(task, TaskState::timed_out, "the run passed cloud.timeout_hours");
  } else if (*code != 0 && *code != kInvalidCode) {
    fail(task, TaskState::failed,
         fmt::format("ended there with exit code {}: see {}", *code, shown(folder / kVmLog)));
  } else if (const Status sound = options_.check(folder, tasks_[task].plan); !sound) {
    fail(task, TaskState::failed, sound.error().message);
  } else {
    results_[task].state = *code == 0 ? TaskState::finished : TaskState::failed_rows;
  }
}

void Fleet::collect(Live& live, bool marked) {
  live.ended = true;
  std::error_code ignored;
  fs::remove(folder_of(live.task) / kExitCode, ignored);  // of an earlier machine
  if (const Status pulled = pull(live); !pulled) {
    fail(live.task, TaskState::failed,
         fmt::format("{}; the results stay at {}", pulled.error().message, live.record.prefix));
  } else {
    judge(live, marked);
  }
  live.record.outcome = to_string(results_[live.task].state);
  if (is_kept(live)) {
    live.record.state = MachineState::kept;
    if (const Status noted = ledger_.put(live.record); !noted)
      log::warn("{}", noted.error().message);
    return;
  }
  (void)remove(live, true);  // clean_up() tries again
}

bool Fleet::is_kept(const Live& live) const {
  const plan::Cloud& cloud = tasks_[live.task].plan.config.cloud;
  const TaskState state = results_[live.task].state;
  return cloud.keep_instance || (cloud.keep_on_failure && state != TaskState::finished);
}

Status Fleet::remove(Live& live, bool certain) {
  if (live.record.state == MachineState::handed_over) live.record.state = MachineState::running;
  SLUICE_CHECK(remove_machine(gcloud_, live.record, certain));
  live.record.state = MachineState::gone;
  return ledger_.put(live.record);
}

void Fleet::hand_over() {
  for (Live& live : live_) {
    if (live.record.state != MachineState::running) continue;
    live.record.state = MachineState::handed_over;
    if (const Status noted = ledger_.put(live.record); !noted)
      log::warn("{}", noted.error().message);
  }
}

std::vector<std::string> Fleet::clean_up() {
  std::vector<std::string> left;
  std::vector<const Live*> cut_off;
  for (Live& live : live_) {
    if (!is_open(live.record)) continue;
    const bool certain = live.record.state == MachineState::running;
    if (const Status removed = remove(live, certain); !removed)
      left.push_back(removed.error().message);
    const TaskState state = results_[live.task].state;
    if (state == TaskState::running) {
      results_[live.task].state = TaskState::not_started;
      results_[live.task].reason = "stopped; what it had finished is kept";
      cut_off.push_back(&live);
    }
  }
  for (const Live* live : cut_off)  // after the deletion, which is what matters
    (void)pull(*live);
  return left;
}

}  // namespace sluice::backend::gcp
