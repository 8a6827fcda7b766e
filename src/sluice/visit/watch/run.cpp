// sluice/visit/watch/run.cpp - the life of `sluice watch`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/watch/run.h"

#include "sluice/core/clock.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/process/child.h"
#include "sluice/core/process/process.h"
#include "sluice/core/process/survivors.h"
#include "sluice/core/text.h"
#include "sluice/measure/summary.h"
#include "sluice/measure/usage.h"
#include "sluice/peers/places.h"
#include "sluice/visit/canary_run.h"
#include "sluice/visit/training/result.h"
#include "sluice/visit/watch/marked_run.h"
#include "sluice/visit/watch/result.h"
#include "sluice/visit/watch/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
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

  Result<WatchResult> run(const results::RunFolder* given) {
    if (given != nullptr)
      visit_.open_in(*given, watch_visit(plan_));
    else
      SLUICE_CHECK(visit_.open(watch_visit(plan_)));
    SLUICE_CHECK(visit_.begin());
    describe();
    SLUICE_CHECK(visit_.described());
    GpuWatch gpu(plan_.gpu_index);
    SLUICE_TRY(const Ended ended, watch_all());
    finish(ended);
    if (ended.failure.empty()) SLUICE_CHECK(look_at_machine());
    SLUICE_CHECK(name_framework());
    SLUICE_CHECK(visit_.write_environment());
    conclude_watch(visit_.file, plan_, gpu.stop());
    WatchResult result;
    result.timed_out = ended.timed_out;
    if (plan_.profile && ended.failure.empty()) SLUICE_CHECK(write_profile(result));
    SLUICE_TRY(static_cast<Visited&>(result), visit_.finish(ended.interrupted));
    return result;
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
  }

  /// A program that computes with another framework is another machine.
  Status name_framework() {
    backend::VisitOptions machine = watch_visit(plan_);
    machine.torch_version = framework_.torch;
    machine.cuda_version = framework_.cuda;
    if (machine.torch_version.empty()) return ok;
    SLUICE_TRY(visit_.file.machine_profile, backend::profile_of_visit(machine));
    return ok;
  }

  /// Noise and the yardstick, after the program: what slowed it down may still be there.
  Status look_at_machine() {
    backend::check_noise(visit_.file);
    SLUICE_CHECK(visit_.start());
    SLUICE_TRY(const peers::Places places, peers::find_places());
    SLUICE_TRY(visit_.file.canary, take_canary(places.worker(), {}, visit_.runner, kCanaryRuns));
    return ok;
  }

  /// A trace of the last run; then, in a run of its own that is not measured, stacks by py-spy.
  Status write_profile(WatchResult& result) {
    const fs::path folder = visit_.path() / "profile";
    SLUICE_CHECK(create_folders(folder));
    SLUICE_CHECK(write_file_atomic(folder / "watch.trace.json",
                                   marks_trace(last_, plan_.warmup, plan_.command.front())));
    result.profile = {"profile/watch.trace.json"};
    SLUICE_TRY(const peers::Places places, peers::find_places());
    const auto sampler = find_command("py-spy", places.search_path);
    if (!sampler) {
      result.no_stacks = "py-spy is not on PATH; `pip install py-spy` brings it";
      return ok;
    }
    const fs::path stacks = folder / "python.speedscope.json";
    SLUICE_TRY(const std::string failure, sample_stacks(*sampler, stacks));
    std::error_code code;
    if (failure.empty() && fs::file_size(stacks, code) > 0 && !code)
      result.profile.emplace_back("profile/python.speedscope.json");
    else
      result.no_stacks = fmt::format("py-spy left none: it {}; its output is in program.log",
                                     failure.empty() ? "ended without" : failure);
    return ok;
  }

  /// What went wrong; empty: nothing.
  Result<std::string> sample_stacks(const std::string& sampler, const fs::path& stacks) {
    std::vector<std::string> command{sampler,    "record",        "--format", "speedscope",
                                     "--output", stacks.string(), "--"};
    command.insert(command.end(), plan_.command.begin(), plan_.command.end());
    SLUICE_TRY(const Scratch scratch, make_scratch());
    sampling_ = true;
    SLUICE_TRY(const Ended ended,
               watch_once(command, scratch.folder->path() / "sampled", scratch.python_path));
    return ended.failure;
  }

  /// A folder for marks, and the PYTHONPATH that finds our module.
  struct Scratch {
    std::unique_ptr<FolderGuard> folder;
    std::string python_path;
  };
  static Result<Scratch> make_scratch() {
    SLUICE_TRY(const peers::Places places, peers::find_places());
    std::string name = (scratch_parent() / "sluice-watch-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      return Error{Errc::io, printable(name) + ": a folder for marks cannot be made"};
    Scratch scratch{std::make_unique<FolderGuard>(name), {}};
    SLUICE_TRY(scratch.python_path, python_path(places, name));
    return scratch;
  }

  Result<Ended> watch_all() {
    if (stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); stop_fd_ < 0)
      return Error{Errc::io, "no event descriptor to end the program with"};
    SLUICE_TRY(const Scratch scratch, make_scratch());
    Ended ended;
    for (int run = 0; run < plan_.runs && ended.failure.empty(); ++run) {
      const fs::path prefix = scratch.folder->path() / fmt::format("run{}", run);
      SLUICE_TRY(ended, watch_once(plan_.command, prefix, scratch.python_path));
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
    if (!sampling_) note_memory(measure::descendants_private_bytes());
    if (visit_.interrupted()) return end_program();
    if (plan_.steps > 0 && !stopped) stopped = counter.count() >= plan_.warmup + plan_.steps;
    if (stopped && ticks_++ == 0) signal_marker(counter.pid(), sampling_);
    if (ticks_ > kGraceTicks) end_program();
  }

  void note_memory(std::int64_t bytes) {
    if (bytes > 0) row_.peak_rss_bytes = std::max(row_.peak_rss_bytes.value_or(0), bytes);
  }

  void end_program() const { eventfd_write(stop_fd_, 1); }

  /// The group of the process that marks: one that we started, whatever the name of its file says.
  /// `alone`: not what stands around it, which has something to write yet.
  static void signal_marker(std::int64_t pid, bool alone) {
    const bool ours = pid > 1 && descends_from(static_cast<pid_t>(pid), getpid());
    if (ours && alone) {
      kill(static_cast<pid_t>(pid), SIGTERM);
      return;
    }
    const pid_t group = ours ? getpgid(static_cast<pid_t>(pid)) : -1;
    if (group > 1 && group != getpgrp()) kill(-group, SIGTERM);
  }

  Result<Ended> watch_once(const std::vector<std::string>& command, const fs::path& prefix,
                           const std::string& python) {
    measure::StepCounter counter(prefix);
    Ended ended;
    ticks_ = 0;
    eventfd_t asked_before = 0;
    eventfd_read(stop_fd_, &asked_before);  // the end of an earlier run is none of this one's
    ChildOptions child;
    child.command = command;
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
    if (!sampling_) {  // else another program stands around it
      if (done)
        note_memory(done->peak_rss_bytes);
      else if (after.peak_rss_bytes > before.peak_rss_bytes)
        note_memory(after.peak_rss_bytes);
    }
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
    std::string broken;
    if (marked > 0) {
      run = watched_run(all[chosen], plan_.warmup, plan_.steps);
      broken = broken_loss(all[chosen]);
      if (framework_.torch.empty()) framework_ = all[chosen].framework;
    }
    if (!ended.failure.empty())
      ended.failure += fmt::format(" after {} step{}", marked, marked == 1 ? "" : "s");
    else if (marked == 0)
      ended.failure =
          "marked no step: call sluice_marks.step() (Python) or sluice_marks_step() (C) in its "
          "loop";
    else if (run.samples_ns.empty())
      ended.failure =
          fmt::format("marked {} steps, of which --warmup {} leaves none", marked, plan_.warmup);
    else if (!broken.empty())
      ended.failure = broken;
    if (run.samples_ns.empty()) return ok;
    last_ = all[chosen];
    run.run_id =
        fmt::format("{}/{}/{}/{}", visit_.file.session_id, row_.case_name, kLibrary, index);
    run.block = index;
    run.counters.reason = "not counted in other people's programs";
    double steps_ns = 0;
    for (const measure::MarkedSpan& step : all[chosen].steps)
      steps_ns += static_cast<double>(step.end_ns - step.begin_ns);
    double counted_ns = 0;  // by our clock, as the processor time is
    const Json& host_ns = at(run.details.front(), "host_step_ns");
    for (std::size_t i = 0; i < run.samples_ns.size(); ++i)
      counted_ns +=
          host_ns.is_array() ? host_ns[i].get<double>() : static_cast<double>(run.samples_ns[i]);
    run.cpu_ns =
        static_cast<std::int64_t>(static_cast<double>(run_cpu_ns_) * counted_ns / steps_ns);
    run.details.front()["processes"] = all.size();
    run.details.front()["run_ns"] = end_ns_ - start_ns_;
    run.details.front()["marked_ns"] = static_cast<std::int64_t>(steps_ns);
    row_.runs.push_back(std::move(run));
    return ok;
  }

  void finish(const Ended& ended) {
    count_in_samples(row_, plan_);
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
  measure::MarkedFramework framework_;
  measure::Marks last_;    // of the main process of the last run
  bool sampling_ = false;  // the run is py-spy's and not measured
  int stop_fd_ = -1;
  int ticks_ = 0;                           // since it had enough steps
  std::int64_t run_cpu_ns_ = 0;             // of the last run, whole
  std::int64_t start_ns_ = 0, end_ns_ = 0;  // of it, by our clock
};

}  // namespace

backend::VisitOptions watch_visit(const WatchPlan& plan) {
  return {.device = plan.gpu_index >= 0 ? env::ProfileDevice::gpu : env::ProfileDevice::cpu,
          .check_noise = false};  // after the program, and only if it ran well
}

Status watch_failure(const WatchResult& result, const WatchPlan& plan) {
  const measure::Row& row = result.file.rows.front();
  if (row.status == measure::RowStatus::ok) return ok;
  return Error{result.interrupted ? Errc::interrupted
               : result.timed_out ? Errc::timeout
                                  : Errc::measurement,
               fmt::format("{}: {}; its output is in {}", printable(plan.command.front()),
                           row.reason, printable((result.folder / "program.log").string()))};
}

Result<WatchResult> run_watch(const Caller& caller, const WatchPlan& plan,
                              const results::RunFolder* folder) {
  return WatchVisit(caller, plan).run(folder);
}

}  // namespace sluice::visit
