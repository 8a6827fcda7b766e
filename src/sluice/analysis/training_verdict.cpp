// sluice/analysis/training_verdict.cpp - targets, indicators and advice for a training step.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/training_verdict.h"

#include "sluice/analysis/bottleneck.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::analysis {
namespace {

using Value = measure::Measured<double>;

constexpr double kTargetTrainingRate = 100;  // samples/s of forward and backward
constexpr double kGoodTrainingGpu = 0.85, kPoorTrainingGpu = 0.5;
constexpr double kGoodClock = 0.95, kMostlyHeld = 0.5;
constexpr double kAmpSpeedup = 1.5, kAmpSaving = 0.5, kAmpSlack = 0.05;  // "about half"
constexpr double kEvenSteps = 0.3;                                       // cv
constexpr double kSustained = 0.95;        // of the rate of the first half of the steps
constexpr double kTrainingMemory = 0.02;   // growth, of the memory in use
constexpr double kStepAllocations = 0.01;  // touched anew in a step, of the memory in use
constexpr double kMuchCpu = 0.9;           // of the cores that feed a GPU
constexpr double kMuchWaiting = 0.1;       // for a core, of a step on the CPU
constexpr double kLongStep_s = 0.1, kShortStep_s = 0.01;
constexpr double kMuchData = 0.2;   // of a step
constexpr double kFewOnGpu = 1000;  // samples/s
constexpr double kIdleMemory = 0.3;

std::optional<double> phase(const TrainingUse& use, std::string_view name) {
  for (const PhaseUse& one : use.phases)
    if (one.name == name) return one.seconds;
  return std::nullopt;
}

double step_of(const TrainingUse& use) {
  return *stats::median(use.step_s);
}

Value forward_backward_rate(const TrainingFacts& facts) {
  const auto forward = phase(facts.use, "forward");
  const auto loss = phase(facts.use, "loss");
  const auto backward = phase(facts.use, "backward");
  if (!forward || !backward) return {std::nullopt, "the phases were not measured"};
  const double seconds = *forward + loss.value_or(0) + *backward;
  if (!(seconds > 0)) return {std::nullopt, "the phases were not measured"};
  return {facts.samples_per_step / seconds, ""};
}

Value gpu_use(const TrainingFacts& facts) {
  const auto busy = gpu_busy(facts);
  if (!busy) return {std::nullopt, facts.no_gpu};
  return {busy->share, ""};
}

Value spread(const TrainingUse& use) {
  const auto cv = use.step_s.size() > 1 ? stats::cv(use.step_s) : Result<double>(Error{});
  if (!cv) return {std::nullopt, "fewer than two steps"};
  return {*cv, ""};
}

/// The rate of the second half of the natural steps over that of the first, by their medians.
Value sustained(const TrainingUse& use) {
  constexpr std::size_t kFewest = 8;
  if (use.step_s.size() < kFewest) return {std::nullopt, "fewer than 8 steps"};
  const auto half = use.step_s.begin() + static_cast<std::ptrdiff_t>(use.step_s.size() / 2);
  const double first = *stats::median(std::vector<double>(use.step_s.begin(), half));
  const double second = *stats::median(std::vector<double>(half, use.step_s.end()));
  return {first / second, ""};
}

/// The last quarter of the moments over the second, by their medians, less 1: what the first steps
/// take is no growth.
Value memory_growth(const TrainingUse& use) {
  constexpr std::size_t kFewest = 8;
  const std::vector<double>& bytes = use.memory_by_step;
  if (bytes.size() < kFewest)
    return {std::nullopt, "fewer than 8 steps beside the timed ones (--warmup-steps)"};
  const auto quarter = [&](std::size_t i) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() * i / 4);
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() * (i + 1) / 4);
    return *stats::median(std::vector<double>(begin, end));
  };
  if (!(quarter(1) > 0)) return {std::nullopt, "the memory in use is not known"};
  return {quarter(3) / quarter(1) - 1, ""};
}

Value allocations(const TrainingUse& use) {
  if (!use.touched_bytes || use.rss_bytes.value_or(0) <= 0 || use.step_s.empty())
    return {std::nullopt, "the library does not tell"};
  return {*use.touched_bytes / static_cast<double>(use.step_s.size()) / *use.rss_bytes, ""};
}

/// On a GPU the cores only feed it; on a CPU they are the device, and too few of them show as
/// threads that wait.
Check cpu_check(const TrainingFacts& facts) {
  if (facts.phases_by_device)
    return check("Excessive CPU (share of the cores)", cpu_use(facts.use, facts.cores),
                 Direction::below, kMuchCpu, 100, " %");
  Value waited{facts.use.waited_share, ""};
  if (!waited.value) waited.reason = "not counted for this program";
  return check("Excessive CPU (steps in which threads wait for a core)", waited, Direction::below,
               kMuchWaiting, 100, " %");
}

}  // namespace

std::vector<Check> training_targets(const TrainingFacts& facts,
                                    const std::optional<AmpComparison>& amp) {
  constexpr const char* kNoAmp = "one type was measured; give --dtype fp32,bf16";
  const auto of_amp = [&](auto value) -> Value {
    if (!amp) return {std::nullopt, kNoAmp};
    return {value(*amp), ""};
  };
  return {check("Forward and backward", forward_backward_rate(facts), Direction::above,
                kTargetTrainingRate, 1, " samples/s"),
          check("GPU utilization", gpu_use(facts), Direction::above, kGoodTrainingGpu, 100, " %"),
          check("Mixed precision speed-up",
                of_amp([](const AmpComparison& one) { return one.speedup.point; }),
                Direction::above, kAmpSpeedup, 1, " x"),
          check("Mixed precision memory saving",
                of_amp([](const AmpComparison& one) { return one.memory_saving; }),
                Direction::above, kAmpSaving - kAmpSlack, 100, " %")};
}

std::vector<Check> training_indicators(const TrainingFacts& facts) {
  Value residual{std::nullopt, "the phases were not measured"};
  if (const auto sum = reconcile(facts.use)) residual = {std::abs(sum->share()), ""};
  return {check("Spread of step times", spread(facts.use), Direction::below, kEvenSteps, 100, " %"),
          check("Step that no phase explains", residual, Direction::below, kReconciled, 100, " %"),
          check("GPU utilization", gpu_use(facts), Direction::above, kGoodTrainingGpu, 100, " %"),
          check("GPU clock (share of its highest)", gpu_clock(facts), Direction::above, kGoodClock,
                100, " %"),
          check("Sustained rate (second half of the steps over the first)", sustained(facts.use),
                Direction::above, kSustained, 100, " %"),
          check("Stable memory (growth)", memory_growth(facts.use), Direction::below,
                kTrainingMemory, 100, " %"),
          check("Frequent allocations (memory touched anew in a step)", allocations(facts.use),
                Direction::below, kStepAllocations, 100, " %"),
          cpu_check(facts)};
}

std::vector<std::string> training_recommendations(const TrainingFacts& facts,
                                                  const TrainingSetting& setting) {
  std::vector<std::string> list;
  const double step = step_of(facts.use);
  const double rate = facts.samples_per_step / step;
  const double data = phase(facts.use, "data").value_or(0) / step;
  const double transfer = phase(facts.use, "transfer").value_or(0) / step;
  if (setting.loads && data > kMuchData)
    list.push_back(fmt::format(
        "{:.0f} % of a step waits for data: more --num-workers or --prefetch, --enable-bundling, "
        "or --cache-dir for a bucket",
        data * 100));
  if (setting.cuda && transfer > kMuchTransfer)
    list.push_back(
        fmt::format("{:.0f} % of a step copies batches to the device: --upload uint8 and pinned "
                    "memory (both are the defaults) make that small",
                    transfer * 100));
  if (const Value cv = spread(facts.use); cv.value && *cv.value > kEvenSteps)
    list.push_back(
        fmt::format("step times vary by {:.0f} %: input or another program gets in the way; "
                    "--persistent-workers, "
                    "bundles, data downloaded before",
                    *cv.value * 100));
  if (const auto busy = gpu_busy(facts); busy && busy->share < kPoorTrainingGpu)
    list.push_back(
        fmt::format("the GPU is busy {:.0f} % of the time: look at the loader "
                    "(`sluice bench dataloader`, `sluice diagnose`)",
                    busy->share * 100));
  if (const Value clock = gpu_clock(facts);
      clock.value && *clock.value < kGoodClock && facts.gpu->held_by_power > kMostlyHeld)
    list.push_back(fmt::format(
        "the power limit ({:.0f} W) holds the GPU at {:.0f} of its {:.0f} MHz: fewer bytes and "
        "operations make a step shorter, filled gaps do not",
        facts.gpu->power_limit_w, facts.gpu->clock_mhz, facts.gpu->highest_clock_mhz));
  if (facts.gpu && facts.gpu->total_bytes > 0 &&
      facts.gpu->peak_used_bytes / facts.gpu->total_bytes < kIdleMemory)
    list.push_back(
        fmt::format("{:.0f} % of the device's memory is used: a larger --batch-size fits",
                    facts.gpu->peak_used_bytes / facts.gpu->total_bytes * 100));
  if (setting.cuda && rate < kFewOnGpu)
    list.push_back(
        fmt::format("{:.0f} samples/s is little for a GPU: --dtype bf16, --compile graph, "
                    "a larger batch; `sluice profile` shows where the time goes",
                    rate));
  if (step > kLongStep_s || step < kShortStep_s)
    list.push_back(
        fmt::format("a step takes {:.3g} s: see whether another batch pays, --sweep "
                    "batch-size=...",
                    step));
  if (list.empty()) list.emplace_back("No significant bottlenecks");
  return list;
}

}  // namespace sluice::analysis
