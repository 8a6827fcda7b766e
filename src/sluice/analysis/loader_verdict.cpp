// sluice/analysis/loader_verdict.cpp - targets, indicators and rules of diagnosis.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/loader_verdict.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sluice::analysis {
namespace {

using Value = measure::Measured<double>;

constexpr double kGoodLoaderGpu = 85;  // per cent
constexpr double kEvenBatches = 0.3;   // cv
constexpr double kSteadyRuns = 0.05;   // cv
constexpr double kSteadyMemory = 0.5;  // MB per epoch
constexpr double kFullMemory = 0.9;
constexpr double kBatchAllocations = 0.1;  // touched anew for a batch, of its bytes
constexpr double kIdleCpu = 0.2;           // CPU time outside of the workers' stages
constexpr std::uint64_t kFewBatches = 4;   // in an epoch

std::vector<std::string> lines_of(const std::vector<Advice>& advice) {
  std::vector<std::string> lines;
  for (const Advice& one : advice)
    lines.push_back(advice_line(one));
  return lines;
}

Finding limit_finding(const LoaderFacts& facts) {
  const LoaderUse& use = *facts.steady;
  double share = 0;
  const std::string stage = limiting_stage(use, &share);
  const double busy = worker_efficiency(facts).value.value_or(0);
  const double cpu = loader_figures(facts).cpu_usage_percent.value.value_or(0) / 100;
  Finding finding;
  finding.diagnosis = fmt::format("{} limits the loader", stage);
  finding.evidence = fmt::format(
      "{} takes {:.0f} % of the workers' busy time; {} worker{} busy {:.0f} % of the time, all "
      "cores {:.0f} %",
      stage, share * 100, use.workers, use.workers == 1 ? "" : "s", busy * 100, cpu * 100);
  return finding;
}

}  // namespace

Check check(const char* name, const Value& value, Direction direction, double limit, double scale,
            const char* unit) {
  Check check;
  check.name = name;
  check.target =
      fmt::format("{} {:g}{}", direction == Direction::above ? ">" : "<", limit * scale, unit);
  if (!value.value) {
    check.found = "n/a: " + value.reason;
    return check;
  }
  check.found = fmt::format("{:.4g}{}", *value.value * scale, unit);
  const bool good = direction == Direction::above ? *value.value > limit : *value.value < limit;
  check.mark = good ? Mark::good : Mark::bad;
  return check;
}

/// Memory touched for the first time for a batch, over its bytes. Pages of a mapped file count
/// alike, so with a map nothing is known.
static Value batch_allocations(const LoaderFacts& facts) {
  if (!facts.steady || !facts.steady->touched_bytes || facts.steady->batches == 0 ||
      facts.steady->ring_slots == 0 || facts.steady->ring_bytes <= 0)
    return {std::nullopt, "no timed sample with details"};
  const LoaderUse& use = *facts.steady;
  if (use.mapped_bytes > 0) return {std::nullopt, "files are mapped, whose pages count alike"};
  const double batch_bytes = use.ring_bytes / static_cast<double>(use.ring_slots);
  return {*use.touched_bytes / static_cast<double>(use.batches) / batch_bytes, ""};
}

/// CPU time of the process that is in no stage of a worker: waiting that spins, handing over.
static Value idle_cpu(const LoaderFacts& facts) {
  if (!facts.steady || !(facts.steady->cpu_s > 0)) return {std::nullopt, "no CPU time was counted"};
  return {std::max(0.0, 1 - facts.steady->worker_busy_s / facts.steady->cpu_s), ""};
}

/// A loader alone keeps no GPU busy and fills no memory: that says nothing about the loader.
Value of_a_model(const LoaderFacts& facts) {
  if (!facts.gpu) return {std::nullopt, facts.no_gpu};
  return {std::nullopt,
          "no model runs here; `sluice diagnose` and `sluice bench training` run one"};
}

std::vector<Check> loader_targets(const LoaderFacts& facts, const LoaderTargets& targets) {
  const results::LoaderMetrics found = loader_figures(facts);
  std::vector<Check> list;
  const auto add = [&](const char* name, const Value& value, Direction direction,
                       const std::optional<double>& limit, double scale, const char* unit) {
    if (limit) list.push_back(check(name, value, direction, *limit, scale, unit));
  };
  add("throughput", found.throughput, Direction::above, targets.rate, 1, " samples/s");
  add("GPU utilisation", of_a_model(facts), Direction::above, targets.gpu, 1, " %");
  add("worker overhead", found.worker_overhead, Direction::below, targets.overhead, 100, " %");
  add("idle VRAM", of_a_model(facts), Direction::below, targets.idle_vram, 100, " %");
  return list;
}

Status set_target(LoaderTargets& targets, const std::string& text) {
  if (text == "none") {
    targets = {std::nullopt, std::nullopt, std::nullopt, std::nullopt};
    return ok;
  }
  struct Name {
    const char* text;
    std::optional<double> LoaderTargets::*target;
    double most;   // of the number as it is typed
    double scale;  // of what is typed to what is kept
  };
  constexpr Name kNames[] = {{"rate", &LoaderTargets::rate, 1e12, 1},
                             {"gpu", &LoaderTargets::gpu, 100, 1},
                             {"overhead", &LoaderTargets::overhead, 100, 0.01},
                             {"idle-vram", &LoaderTargets::idle_vram, 100, 0.01}};
  const std::size_t equals = text.find('=');
  for (const Name& name : kNames) {
    if (equals == std::string::npos || text.compare(0, equals, name.text) != 0) continue;
    std::string number = text.substr(equals + 1);
    if (number.ends_with('%') && name.target != &LoaderTargets::rate) number.pop_back();
    double value = -1;
    const char* end = number.data() + number.size();
    const auto [stop, problem] = std::from_chars(number.data(), end, value);
    if (problem != std::errc{} || stop != end || !(value >= 0 && value <= name.most)) break;
    targets.*name.target = value * name.scale;
    return ok;
  }
  return Error{Errc::usage, fmt::format("target '{}'; accepted: none, rate=SAMPLES_PER_S, and in "
                                        "per cent overhead=N, gpu=N, idle-vram=N",
                                        printable(text))};
}

std::vector<Check> loader_indicators(const LoaderFacts& facts, double cv_over_runs) {
  const results::LoaderMetrics found = loader_figures(facts);
  const Value runs =
      cv_over_runs > 0 ? Value{cv_over_runs, ""} : Value{std::nullopt, "needs two runs or more"};
  return {
      check("sustained throughput (spread over runs)", runs, Direction::below, kSteadyRuns, 100,
            " %"),
      check("consistent batch times (spread)", found.batch_time_cv, Direction::below, kEvenBatches,
            100, " %"),
      check("stable memory (growth)", found.memory_slope_mb_per_epoch, Direction::below,
            kSteadyMemory, 1, " MB/epoch"),
      check("few allocations (memory touched anew for a batch)", batch_allocations(facts),
            Direction::below, kBatchAllocations, 100, " %"),
      check("no excessive CPU (time outside of the workers' stages)", idle_cpu(facts),
            Direction::below, kIdleCpu, 100, " %"),
      check("high GPU utilisation", of_a_model(facts), Direction::above, kGoodLoaderGpu, 1, " %")};
}

std::string limiting_stage(const LoaderUse& use, double* share) {
  const StageUse* largest = nullptr;
  double sum = 0;
  for (const StageUse& stage : use.stages) {
    if (stage.name == "list") continue;  // once, before the first sample
    sum += stage.busy_s;
    if (largest == nullptr || stage.busy_s > largest->busy_s) largest = &stage;
  }
  if (largest == nullptr || sum <= 0) return "";
  if (share != nullptr) *share = largest->busy_s / sum;
  return largest->name;
}

std::vector<Finding> loader_findings(const LoaderFacts& facts, const LoaderSetting& setting,
                                     const std::optional<Attribution>& step,
                                     const std::vector<Advice>& advice) {
  std::vector<Finding> list;
  if (step) list.push_back(finding_of(*step));
  if (facts.steady && !limiting_stage(*facts.steady).empty()) list.push_back(limit_finding(facts));
  if (!list.empty() && !advice.empty())
    list.front().solutions = lines_of(advice);
  else if (!list.empty() && !step)
    list.front().solutions = {kNothingPromised};
  if (const auto fewest = kFewBatches * static_cast<std::uint64_t>(setting.batch);
      setting.items > 0 && setting.items < fewest)
    list.push_back(
        {"few samples: what is said here is about these files alone",
         fmt::format("{} sample{}, {} to a batch: an epoch begins every {} batch(es), and "
                     "the page cache holds all of them",
                     setting.items, setting.items == 1 ? "" : "s", setting.batch,
                     setting.items / static_cast<std::uint64_t>(setting.batch)),
         {fmt::format("measure with {} samples or more", fewest)}});
  if (const Value cv = batch_time_cv(facts); cv.value && *cv.value > kEvenBatches) {
    Finding finding{
        "variable batch times: loading is uneven",
        fmt::format("the times between batches spread by {:.0f} % of their mean", *cv.value * 100),
        {}};
    if (!setting.persistent)
      finding.solutions.push_back("keep workers alive between epochs: --persistent-workers");
    if (setting.remote && !setting.cached)
      finding.solutions.push_back("keep what was downloaded on a local disk: --cache-dir DIR");
    finding.solutions.push_back("see how evenly the storage answers: `sluice bench storage`");
    list.push_back(std::move(finding));
  }
  if (facts.memory_total_bytes > 0 && facts.peak_rss_bytes > kFullMemory * facts.memory_total_bytes)
    list.push_back({"memory is nearly full: the batch is too large",
                    fmt::format("{:.1f} of {:.1f} GB", facts.peak_rss_bytes / 1e9,
                                facts.memory_total_bytes / 1e9),
                    {"reduce --batch-size", "reduce --prefetch"}});
  return list;
}

std::optional<stats::Estimate> epoch_estimate(const measure::Row& row, double items) {
  if (!row.summary || row.summary->mean <= 0 || items <= 0) return std::nullopt;
  stats::Estimate seconds;
  seconds.point = items / row.summary->mean;
  const auto& ci = row.summary->ci95;
  if (ci && ci->low > 0) {
    seconds.low = items / ci->high;
    seconds.high = items / ci->low;
  } else {
    seconds.low = seconds.high = seconds.point;
    seconds.confidence = 0;
  }
  return seconds;
}

}  // namespace sluice::analysis
