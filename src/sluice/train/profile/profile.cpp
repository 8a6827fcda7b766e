// sluice/train/profile/profile.cpp - the schedule, the observer, and the files it leaves.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/profile.h"

#include "sluice/core/file.h"
#include "sluice/train/profile/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace sluice::train {
namespace {

constexpr std::size_t kManyOps = 8192;  // of a step: more are kept too, at the price of a copy

/// What the engine says while it runs; kept without copying texts.
class Recorder final : public StepObserver {
 public:
  Recorder() {
    regions_.reserve(64);
    ops_.reserve(kManyOps);
  }
  void phase(Phase phase, std::int64_t start_ns, std::int64_t end_ns) override {
    regions_.push_back({phase, start_ns, end_ns});
  }
  void op(const OpSpan& span) override { ops_.push_back(span); }
  void clear() {
    regions_.clear();
    ops_.clear();
  }
  /// In the order of time; on one rank nothing is synchronised, and a region without length says
  /// so.
  void move_to(StepTrace& step) {
    const bool synced = std::any_of(regions_.begin(), regions_.end(), [](const Region& region) {
      return region.phase == Phase::grad_sync;
    });
    std::int64_t backward_end = step.start_ns;
    for (const Region& region : regions_)
      if (region.phase == Phase::backward) backward_end = std::max(backward_end, region.end_ns);
    if (!synced) regions_.push_back({Phase::grad_sync, backward_end, backward_end});
    step.regions = regions_;
    std::stable_sort(step.regions.begin(), step.regions.end(),
                     [](const Region& a, const Region& b) { return a.start_ns < b.start_ns; });
    step.ops.reserve(ops_.size());
    for (const OpSpan& span : ops_)
      step.ops.push_back({span.name, span.category, span.start_ns, span.end_ns});
    clear();
  }

 private:
  std::vector<Region> regions_;
  std::vector<OpSpan> ops_;
};

/// The engine as it was before, whatever happens meanwhile.
class Observed {
 public:
  explicit Observed(Engine& engine) : engine_(engine) {}
  ~Observed() {
    engine_.observe(nullptr);
    engine_.time_phases(false);
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
  void by(StepObserver* observer) {
    engine_.time_phases(observer != nullptr);
    engine_.observe(observer);
  }

 private:
  Engine& engine_;
};

Status run_step(Engine& engine, const BatchSource& next, StepObserver* observer) {
  for (int micro = 0; micro < engine.config().grad_accum; ++micro) {
    const std::int64_t asked_ns = now_ns();
    if (!next) {
      if (observer != nullptr) observer->phase(Phase::data, asked_ns, asked_ns);
      SLUICE_CHECK(engine.micro_step_again());
      continue;
    }
    SLUICE_TRY(const BatchView batch, next());
    if (observer != nullptr) observer->phase(Phase::data, asked_ns, now_ns());
    SLUICE_CHECK(engine.micro_step(batch));
  }
  SLUICE_TRY([[maybe_unused]] const StepResult result, engine.update());
  engine.synchronize();
  return ok;
}

/// Files for TensorBoard, which takes what stands before the time in a name for a worker and orders
/// its files by the time.
class TensorboardFolder {
 public:
  explicit TensorboardFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Result<std::filesystem::path> write(const char* worker, const std::string& trace) {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t now_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
    last_ms_ = std::max(now_ms, last_ms_ + 1);
    const auto path = folder_ / fmt::format("{}.{}.pt.trace.json", worker, last_ms_);
    SLUICE_CHECK(write_file_atomic(path, trace, Flush::later));
    return path;
  }

 private:
  std::filesystem::path folder_;
  std::int64_t last_ms_ = 0;
};

}  // namespace

Result<ProfileFiles> profile_steps(Engine& engine, const BatchSource& next,
                                   const ProfileSchedule& schedule,
                                   const std::filesystem::path& folder,
                                   const ProfileOutput& output) {
  SLUICE_CHECK(check_schedule(schedule));
  const std::filesystem::path chrome_dir = folder / "profile" / "chrome";
  const std::filesystem::path tb_dir = folder / "profile" / "tb";
  if (output.chrome) SLUICE_CHECK(create_folders(chrome_dir));
  if (output.tensorboard) SLUICE_CHECK(create_folders(tb_dir));

  StepProfile profile{engine.config().model.name,
                      engine.info().device,
                      engine.info().library,
                      to_string(engine.info().regime),
                      engine.config().batch,
                      engine.info().threads,
                      {},
                      costs_of(engine.program()),
                      output.device};
  profile.steps.reserve(static_cast<std::size_t>(schedule.active) *
                        static_cast<std::size_t>(schedule.repeat));
  Recorder recorder;
  ProfileFiles files;
  TensorboardFolder tensorboard(tb_dir);
  std::int64_t number = 0;
  for (int cycle = 0; cycle < schedule.repeat; ++cycle) {
    Observed observed(engine);
    for (int i = 0; i < schedule.wait; ++i, ++number)
      SLUICE_CHECK(run_step(engine, next, nullptr));
    observed.by(&recorder);
    for (int i = 0; i < schedule.warmup; ++i, ++number) {
      SLUICE_CHECK(run_step(engine, next, &recorder));
      recorder.clear();
    }
    for (int i = 0; i < schedule.active; ++i, ++number) {
      StepTrace step;
      step.cycle = cycle;
      step.number = number;
      step.start_ns = now_ns();
      SLUICE_CHECK(run_step(engine, next, &recorder));
      step.end_ns = now_ns();
      recorder.move_to(step);
      profile.steps.push_back(std::move(step));
    }
    if (output.tensorboard) {
      SLUICE_TRY(auto path, tensorboard.write("sluice", kineto_trace(profile, cycle)));
      files.tensorboard.push_back(std::move(path));
    }
  }
  if (output.tensorboard && !profile.device_steps.empty()) {
    SLUICE_TRY(auto path, tensorboard.write("sluice_kernels", kineto_kernels(profile)));
    files.tensorboard.push_back(std::move(path));
  }
  if (output.chrome) {
    files.chrome = chrome_dir / "trace.json";
    SLUICE_CHECK(write_file_atomic(files.chrome, chrome_trace(profile), Flush::later));
  }
  files.summary = summarise(profile);
  return files;
}

}  // namespace sluice::train
