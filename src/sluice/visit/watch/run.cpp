// sluice/visit/watch/run.cpp - the life of `sluice watch`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/watch/run.h"

#include "sluice/core/clock.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/process/child.h"
#include "sluice/core/process/survivors.h"
#include "sluice/core/text.h"
#include "sluice/measure/summary.h"
#include "sluice/measure/usage.h"
#include "sluice/peers/places.h"
#include "sluice/visit/canary_run.h"
#include "sluice/visit/training/result.h"
#include "sluice/visit/watch/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sys/eventfd.h>
#include <unistd.h>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "program";
constexpr double kNoLimitS = 1e9;
constexpr int kCanaryRuns = 2;
constexpr double kHelpersS = 0.2;  // of a runtime, which leave a moment after their program
constexpr int kGraceTicks = 5;     // about seconds between SIGTERM and SIGKILL
constexpr std::uintmax_t kRoomInMemory = std::uintmax_t{1} << 30;

/// Memory where there is plenty of it: marks on a disk can wait for the disk.
fs::path scratch_parent() {
  std::error_code code;
  const fs::path memory = "/dev/shm";
  const fs::space_info space = fs::space(memory, code);
  if (!code && space.available >= kRoomInMemory && access(memory.c_str(), W_OK) == 0) return memory;
  return fs::temp_directory_path(code);
}

/// How a run of the program ended.
struct Ended {
  std::string failure;   // empty: as it should
  bool stopped = false;  // we ended it: it had enough steps
  bool timed_out = false;
  bool interrupted = false;
};

class WatchVisit {
 public:
  WatchVisit(const Caller& caller, const WatchPlan& plan)
      : caller_(caller), plan_(plan), visit_(caller, "watch") {}
  ~WatchVisit() {
    if (stop_fd_ >= 0) close(stop_fd_);
  }
  WatchVisit(const WatchVisit&) = delete;
  WatchVisit& operator=(const WatchVisit&) = delete;

  Result<WatchResult> run() {
    SLUICE_CHECK(visit_.open(
        {.device = plan_.gpu_index >= 0 ? env::ProfileDevice::gpu : env::ProfileDevice::cpu,
         .check_noise = false}));  // after the program, and only if it ran well
    SLUICE_CHECK(visit_.begin());
    describe();
    SLUICE_CHECK(visit_.described());
    GpuWatch gpu(plan_.gpu_index);
    SLUICE_TRY(const Ended ended, watch_all());
    finish(ended);
    if (ended.failure.empty()) SLUICE_CHECK(look_at_machine());
    SLUICE_CHECK(visit_.write_environment());
    conclude_watch(visit_.file, plan_, gpu.stop());
    SLUICE_TRY(Visited visited, visit_.finish(ended.interrupted));
    return WatchResult{std::move(visited), ended.timed_out};
  }

 private:
  void describe() {
    visit_.file.run_config = Json{{"command", "watch"},
                                  {"program", plan_.command},
                                  {"name", plan_.name},
                                  {"runs", plan_.runs},
                                  {"warmup_steps", plan_.warmup},
                                  {"measure_steps", plan_.steps},
                                  {"samples_per_step", plan_.samples_per_step},
                                  {"tokens_per_step", plan_.tokens_per_step}};
    visit_.file.timing = {.scope = "training step of a watched program",
                          .data_source = "the program's"};
    row_.case_name = "watch/" + plan_.name;
    row_.library = kLibrary;
    row_.library_version = "unknown";
    row_.unit = plan_.samples_per_step > 0 ? "samples/s" : "steps/s";
    row_.items_per_sample = std::max<std::int64_t>(plan_.samples_per_step, 1);
  }

  /// Noise and the yardstick, after the program: what slowed it down may still be there.
  Status look_at_machine() {
    backend::check_noise(visit_.file);
    SLUICE_CHECK(visit_.start());
    SLUICE_TRY(const peers::Places places, peers::find_places());
    SLUICE_TRY(visit_.file.canary, take_canary(places.worker(), {}, visit_.runner, kCanaryRuns));
    return ok;
  }

  Result<Ended> watch_all() {
    SLUICE_TRY(const peers::Places places, peers::find_places());
    if (stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); stop_fd_ < 0)
      return Error{Errc::io, "no event descriptor to end the program with"};
    std::string scratch = (scratch_parent() / "sluice-watch-XXXXXX").string();
    if (mkdtemp(scratch.data()) == nullptr)
      return Error{Errc::io, printable(scratch) + ": a folder for marks cannot be made"};
    const FolderGuard guard(scratch);
    SLUICE_TRY(const std::string python, python_path(places, scratch));
    Ended ended;
    for (int run = 0; run < plan_.runs && ended.failure.empty(); ++run) {
      const fs::path prefix = fs::path(scratch) / fmt::format("run{}", run);
      SLUICE_TRY(ended, watch_once(prefix, python));
      SLUICE_CHECK(keep(prefix, run, ended));
    }
    return ended;
  }

  /// A folder with our module alone, so that nothing else of ours can hide a module of theirs.
  static Result<std::string> python_path(const peers::Places& places, const fs::path& scratch) {
    const char* given = std::getenv("PYTHONPATH");  // NOLINT(concurrency-mt-unsafe)
    const std::string before = given != nullptr ? given : "";
    if (places.adapters.empty()) return before;
    const fs::path module = places.adapters / "python" / "sluice_marks.py";
    SLUICE_TRY(const std::string text, read_text_file(module));
    SLUICE_CHECK(create_folders(scratch / "python"));
    SLUICE_CHECK(write_file_atomic(scratch / "python" / "sluice_marks.py", text, Flush::later));
    const std::string ours = (scratch / "python").string();
    return before.empty() ? ours : before + ":" + ours;
  }

  /// About once a second, and when a signal comes.
  void tick(measure::StepCounter& counter, bool& stopped) {
    if (visit_.interrupted()) return end_program();
    if (plan_.steps > 0 && !stopped) stopped = counter.count() >= plan_.warmup + plan_.steps;
    if (stopped && ticks_++ == 0) signal_marker(counter.pid());
    if (ticks_ > kGraceTicks) end_program();
  }

  void end_program() const { eventfd_write(stop_fd_, 1); }

  /// The group of the process that marks: one that we started, whatever the name of its file says.
  static void signal_marker(std::int64_t pid) {
    const bool ours = pid > 1 && descends_from(static_cast<pid_t>(pid), getpid());
    const pid_t group = ours ? getpgid(static_cast<pid_t>(pid)) : -1;
    if (group > 1 && group != getpgrp()) kill(-group, SIGTERM);
  }

  Result<Ended> watch_once(const fs::path& prefix, const std::string& python) {
    measure::StepCounter counter(prefix);
    Ended ended;
    ticks_ = 0;
    ChildOptions child;
    child.command = plan_.command;
    child.environment = {{"SLUICE_MARKS", prefix.string()}};
    if (!python.empty()) child.environment["PYTHONPATH"] = python;
    child.log_file = visit_.path() / "program.log";
    child.timeout_s = plan_.limit_s > 0 ? plan_.limit_s : kNoLimitS;
    child.cancel_fd = stop_fd_;
    child.grace_s = kHelpersS;
    child.on_tick = [&] { tick(counter, ended.stopped); };
    if (!caller_.quiet)
      child.on_line = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
    const measure::ChildrenUsage before = measure::children_usage();
    SystemClock clock;
    start_ns_ = clock.now_ns();
    const auto done = run_child(child);
    end_ns_ = clock.now_ns();
    if (done && !done->survivors.empty() && !ended.stopped)
      log::warn("{}: left running, killed: {}", printable(plan_.command.front()),
                join(done->survivors));
    const measure::ChildrenUsage after = measure::children_usage();
    run_cpu_ns_ = after.cpu_ns - before.cpu_ns;
    if (after.peak_rss_bytes > before.peak_rss_bytes) row_.peak_rss_bytes = after.peak_rss_bytes;
    ended.interrupted = visit_.interrupted();
    if (ended.interrupted) {
      ended.failure = "was interrupted";
    } else if (!done && done.error().code == Errc::timeout) {
      ended.timed_out = true;
      ended.failure = fmt::format("did not end within --limit {:g} s", plan_.limit_s);
    } else if (!done && done.error().code != Errc::interrupted) {
      return done.error();
    } else if (done && done->status != 0 && !ended.stopped) {
      ended.failure = done->status > 128 ? fmt::format("was ended by signal {} (exit code {})",
                                                       done->status - 128, done->status)
                                         : fmt::format("ended with exit code {}", done->status);
    }
    return ended;
  }

  /// Marks are what the program says; they must at least lie within the time that it ran, and be of
  /// processes that are gone with it. Empty: they do.
  [[nodiscard]] std::string why_not_believed(const std::vector<measure::Marks>& all) const {
    for (const measure::Marks& marks : all) {
      if (is_running(static_cast<pid_t>(marks.pid)))
        return fmt::format("process {} still runs, so it is none of the program's", marks.pid);
      if (std::string why = measure::impossible_in(marks, start_ns_, end_ns_); !why.empty())
        return why;
    }
    return {};
  }

  /// What was marked in this run, and what to say when it is too little.
  Status keep(const fs::path& prefix, int index, Ended& ended) {
    SLUICE_TRY(const auto all, measure::read_marks(prefix));
    if (const std::string why = why_not_believed(all); !why.empty()) {
      ended.failure = "left marks that cannot be: " + why;
      return ok;
    }
    const std::size_t chosen = all.empty() ? 0 : main_process(all);
    const std::size_t marked = all.empty() ? 0 : all[chosen].steps.size();
    measure::Run run;
    if (marked > 0) run = watched_run(all[chosen], plan_.warmup, plan_.steps);
    if (!ended.failure.empty())
      ended.failure += fmt::format(" after {} step{}", marked, marked == 1 ? "" : "s");
    else if (marked == 0)
      ended.failure =
          "marked no step: call sluice_marks.step() (Python) or sluice_marks_step() (C) in its "
          "loop";
    else if (run.samples_ns.empty())
      ended.failure =
          fmt::format("marked {} steps, of which --warmup {} leaves none", marked, plan_.warmup);
    if (run.samples_ns.empty()) return ok;
    run.run_id =
        fmt::format("{}/{}/{}/{}", visit_.file.session_id, row_.case_name, kLibrary, index);
    run.block = index;
    run.counters.reason = "not counted in other people's programs";
    double steps_ns = 0;
    for (const measure::MarkedSpan& step : all[chosen].steps)
      steps_ns += static_cast<double>(step.end_ns - step.begin_ns);
    double counted_ns = 0;
    for (const std::int64_t ns : run.samples_ns)
      counted_ns += static_cast<double>(ns);
    run.cpu_ns =
        static_cast<std::int64_t>(static_cast<double>(run_cpu_ns_) * counted_ns / steps_ns);
    run.details.front()["processes"] = all.size();
    run.details.front()["run_ns"] = end_ns_ - start_ns_;
    run.details.front()["marked_ns"] = static_cast<std::int64_t>(steps_ns);
    row_.runs.push_back(std::move(run));
    return ok;
  }

  void finish(const Ended& ended) {
    measure::summarise(row_, measure::Policy{}.unstable_cv);
    if (!ended.failure.empty()) {
      row_.status = ended.interrupted || ended.timed_out ? measure::RowStatus::early_stopped
                                                         : measure::RowStatus::failed;
      if (!row_.summary) row_.status = measure::RowStatus::failed;
      row_.reason = "the program " + ended.failure;
    }
    visit_.file.rows = {std::move(row_)};
  }

  const Caller& caller_;
  const WatchPlan& plan_;
  Visit visit_;
  measure::Row row_;
  int stop_fd_ = -1;
  int ticks_ = 0;                           // since it had enough steps
  std::int64_t run_cpu_ns_ = 0;             // of the last run, whole
  std::int64_t start_ns_ = 0, end_ns_ = 0;  // of it, by our clock
};

}  // namespace

std::size_t main_process(const std::vector<measure::Marks>& all) {
  const auto most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.steps.size() < b.steps.size();
  });
  return static_cast<std::size_t>(std::distance(all.begin(), most));
}

measure::Run watched_run(const measure::Marks& marks, std::int64_t warmup, std::int64_t steps) {
  measure::Run run;
  const std::size_t first = std::min(static_cast<std::size_t>(warmup), marks.steps.size());
  std::size_t count = marks.steps.size() - first;
  if (steps > 0) count = std::min(count, static_cast<std::size_t>(steps));
  run.pid = marks.pid;
  run.warmup_discarded = static_cast<int>(first);
  for (std::size_t i = first; i < first + count; ++i)
    run.samples_ns.push_back(marks.steps[i].end_ns - marks.steps[i].begin_ns);
  if (count == 0) return run;
  run.start_ns = marks.steps[first].begin_ns;
  measure::PhaseTable table = measure::phases_by_step(marks, first);
  Json phases = Json::object();
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    table.times_ns[i].resize(count);
    phases[table.names[i]] = table.times_ns[i];
  }
  Json details{{"steps", count},
               {"dropped_marks", marks.dropped},
               {"skipped_records", marks.skipped},
               {"phases_outside_steps", table.outside}};
  if (!phases.empty()) {
    details["phased_step_ns"] = run.samples_ns;
    details["phases_ns"] = std::move(phases);
  }
  run.details = Json::array({std::move(details)});
  return run;
}

Result<WatchResult> run_watch(const Caller& caller, const WatchPlan& plan) {
  return WatchVisit(caller, plan).run();
}

}  // namespace sluice::visit
