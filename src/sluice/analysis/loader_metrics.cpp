// sluice/analysis/loader_metrics.cpp - the definitions, in words and as functions.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/loader_metrics.h"

#include "sluice/stats/rank.h"
#include "sluice/stats/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unistd.h>

namespace sluice::analysis {
namespace {

using Value = measure::Measured<double>;

Value value(double number) {
  if (!std::isfinite(number)) return {std::nullopt, "the value is not finite"};
  return {number, ""};
}

Value none(std::string reason) {
  return {std::nullopt, std::move(reason)};
}

constexpr const char* kNoDetails = "no timed sample with details";

double stage_busy_s(const LoaderUse& use, std::string_view name) {
  for (const StageUse& stage : use.stages)
    if (stage.name == name) return stage.busy_s;
  return 0;
}

/// Where bytes came over a network: the first epoch, and else the steady samples.
const LoaderUse* downloading(const LoaderFacts& facts) {
  for (const auto* use : {&facts.first, &facts.steady}) {
    if (*use && (*use)->store.downloaded_bytes.value_or(0) > 0) return &**use;
  }
  return nullptr;
}

Value throughput(const LoaderFacts& facts) {
  return facts.rate > 0 ? value(facts.rate) : none(kNoDetails);
}

Value load_time(const LoaderFacts& facts) {
  if (!facts.steady || facts.steady->batches == 0) return none(kNoDetails);
  return value(facts.steady->wall_s * 1e3 / static_cast<double>(facts.steady->batches));
}

Value gpu_utilisation(const LoaderFacts& facts) {
  return facts.gpu ? value(facts.gpu->mean_utilisation * 100) : none(facts.no_gpu);
}

Value cpu_usage(const LoaderFacts& facts) {
  if (!facts.steady || facts.steady->wall_s <= 0 || facts.cores == 0) return none(kNoDetails);
  return value(facts.steady->cpu_s / facts.steady->wall_s / facts.cores * 100);
}

Value memory_used(const LoaderFacts& facts) {
  return facts.peak_rss_bytes > 0 ? value(facts.peak_rss_bytes / 1e9) : none("not sampled");
}

Value memory_total(const LoaderFacts& facts) {
  return facts.memory_total_bytes > 0 ? value(facts.memory_total_bytes / 1e9) : none("not known");
}

Value worker_overhead(const LoaderFacts& facts) {
  const Value efficiency = worker_efficiency(facts);
  return efficiency.value ? value(1 - *efficiency.value) : efficiency;
}

Value warm_cache_hit_rate(const LoaderFacts& facts) {
  LoaderFacts warm;
  warm.first = facts.steady;
  return cache_hit_rate(warm);
}

Value sync_overhead(const LoaderFacts& facts) {
  if (!facts.gpu) return none(facts.no_gpu);
  if (!facts.steady || facts.steady->wall_s <= 0) return none(kNoDetails);
  const double transfer_s = stage_busy_s(*facts.steady, "transfer");
  if (transfer_s <= 0) return none("no batch was copied to the device");
  return value(transfer_s / facts.steady->wall_s);
}

Value memory_slope(const LoaderFacts& facts) {
  constexpr std::size_t kSkipped = 2, kFewest = 5;
  if (!facts.steady) return none(kNoDetails);
  const std::vector<double>& bytes = facts.steady->anonymous_by_epoch;
  if (bytes.size() < kSkipped + kFewest)
    return none("fewer than 7 epochs in one process; give --num-batches for more");
  std::vector<double> epochs, megabytes;
  for (std::size_t i = kSkipped; i < bytes.size(); ++i) {
    epochs.push_back(static_cast<double>(i));
    megabytes.push_back(bytes[i] / 1e6);
  }
  const auto fit = stats::theil_sen(epochs, megabytes);
  return fit ? value(fit->slope.point) : none(fit.error().message);
}

Value first_batch(const LoaderFacts& facts) {
  const auto& use = facts.first ? facts.first : facts.steady;
  return use && use->first_batch_ms > 0 ? value(use->first_batch_ms) : none(kNoDetails);
}

Value stop_time(const LoaderFacts& facts) {
  if (facts.first && facts.first->stop_ms) return value(*facts.first->stop_ms);
  return none("no first epoch was measured");
}

Value first_epoch_rate(const LoaderFacts& facts) {
  if (!facts.first || facts.first->wall_s <= 0) return none("no first epoch was measured");
  return value(static_cast<double>(facts.first->samples) / facts.first->wall_s);
}

constexpr std::array<LoaderMetric, 22> kLoaderMetrics = {{
    {&results::LoaderMetrics::throughput, "throughput", "samples/s",
     "samples delivered over wall time, mean over fresh processes; the consumer takes every batch "
     "and does nothing else",
     throughput},
    {&results::LoaderMetrics::load_time_ms, "load time per batch", "ms",
     "wall time of the timed samples over the batches delivered in them", load_time},
    {&results::LoaderMetrics::first_epoch_rate, "first epoch", "samples/s",
     "samples over wall time from the start of the loader on, caches as the run found them (page "
     "cache dropped and verified where it can be)",
     first_epoch_rate},
    {&results::LoaderMetrics::batch_time_cv, "spread of batch times", "",
     "standard deviation over mean of the times between batches, median over timed samples",
     batch_time_cv},
    {&results::LoaderMetrics::gpu_utilisation_percent, "GPU utilisation", "%",
     "NVML's share of time in which a kernel ran, mean over the timed samples", gpu_utilisation},
    {&results::LoaderMetrics::idle_vram, "idle VRAM", "",
     "1 - peak memory in use / memory of the device (NVML)", idle_vram},
    {&results::LoaderMetrics::sync_overhead, "copies to the device", "",
     "time in which a batch was copied to the device, beside the loading / wall time",
     sync_overhead},
    {&results::LoaderMetrics::cpu_usage_percent, "CPU usage", "%",
     "CPU time of the loading process, all threads / (wall time x usable cores)", cpu_usage},
    {&results::LoaderMetrics::memory_used_gb, "memory", "GB",
     "largest resident set of the loading process", memory_used},
    {&results::LoaderMetrics::memory_total_gb, "memory of the machine", "GB",
     "what this process may use", memory_total},
    {&results::LoaderMetrics::memory_slope_mb_per_epoch, "growth of memory", "MB/epoch",
     "Theil-Sen slope of anonymous memory over epochs, from the third on", memory_slope},
    {&results::LoaderMetrics::worker_efficiency, "worker efficiency", "",
     "busy time of all workers / (workers x wall time); busy is list, read, decode, augment, "
     "collate, not waiting and not handing over",
     worker_efficiency},
    {&results::LoaderMetrics::worker_overhead, "worker overhead", "", "1 - worker efficiency",
     worker_overhead},
    {&results::LoaderMetrics::prefetch_efficiency, "prefetch efficiency", "",
     "share of batch requests that found their batch ready; with a consumer that does nothing it "
     "is low whenever loading is the limit (try --step-ms)",
     prefetch_efficiency},
    {&results::LoaderMetrics::cache_hit_rate, "cache hit rate", "",
     "hits / (hits + misses) of the object cache in the first epoch: the state in which the run "
     "found it",
     cache_hit_rate},
    {&results::LoaderMetrics::warm_cache_hit_rate, "cache hit rate, later epochs", "",
     "the same in the timed samples after the first epoch", warm_cache_hit_rate},
    {&results::LoaderMetrics::download_mb_per_s, "download", "MB/s",
     "bytes that came over the network / wall time of the samples they came in", download_mb_per_s},
    {&results::LoaderMetrics::network_overhead, "network overhead", "",
     "time in which workers waited for the store / (workers x wall time)", network_overhead},
    {&results::LoaderMetrics::parallel_download_efficiency, "parallel download efficiency", "",
     "MB/s of N workers / (N x MB/s of one worker)", parallel_download_efficiency},
    {&results::LoaderMetrics::mmap_effectiveness, "mmap effectiveness", "",
     "1 - major faults x page size / bytes read through the map", mmap_effectiveness},
    {&results::LoaderMetrics::first_batch_ms, "time to first batch", "ms",
     "from the start of the loader to its first batch", first_batch},
    {&results::LoaderMetrics::shutdown_ms, "shutdown", "ms",
     "to end all workers while batches are in flight", stop_time},
}};

}  // namespace

Value worker_efficiency(const LoaderFacts& facts) {
  if (!facts.steady || facts.steady->wall_s <= 0 || facts.steady->workers == 0)
    return none(kNoDetails);
  // A stage that began before the sample counts in full: a little more than all is all.
  return value(
      std::min(1.0, facts.steady->worker_busy_s / (facts.steady->workers * facts.steady->wall_s)));
}

Value prefetch_efficiency(const LoaderFacts& facts) {
  if (!facts.steady || facts.steady->batches == 0) return none(kNoDetails);
  return value(1 - static_cast<double>(facts.steady->waited_batches) /
                       static_cast<double>(facts.steady->batches));
}

Value cache_hit_rate(const LoaderFacts& facts) {
  const auto& use = facts.first ? facts.first : facts.steady;
  if (!use) return none(kNoDetails);
  if (!use->store.hits) return none("no cache is in use; --cache-dir sets one up");
  const double lookups = *use->store.hits + use->store.misses.value_or(0);
  if (lookups <= 0) return none("the cache was not asked");
  return value(*use->store.hits / lookups);
}

Value mmap_effectiveness(const LoaderFacts& facts) {
  const auto& use = facts.first ? facts.first : facts.steady;
  if (!use) return none(kNoDetails);
  if (use->mapped_bytes <= 0) return none("nothing was read through a map; see --read-mode mmap");
  const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return value(std::max(0.0, 1 - use->major_faults * page / use->mapped_bytes));
}

Value download_mb_per_s(const LoaderFacts& facts) {
  const LoaderUse* use = downloading(facts);
  if (use == nullptr || use->wall_s <= 0) return none("nothing came over a network");
  return value(*use->store.downloaded_bytes / 1e6 / use->wall_s);
}

Value network_overhead(const LoaderFacts& facts) {
  const LoaderUse* use = downloading(facts);
  if (use == nullptr || use->wall_s <= 0 || use->workers == 0)
    return none("nothing came over a network");
  return value(stage_busy_s(*use, "read") / (use->workers * use->wall_s));
}

Value parallel_download_efficiency(const LoaderFacts& facts) {
  const Value rate = download_mb_per_s(facts);
  if (!rate.value) return rate;
  const LoaderUse* use = downloading(facts);
  if (!facts.one_worker_download_mb_s || *facts.one_worker_download_mb_s <= 0)
    return none("needs a row with one worker that downloads: --sweep workers=1,N without a cache");
  return value(*rate.value / (use->workers * *facts.one_worker_download_mb_s));
}

Value idle_vram(const LoaderFacts& facts) {
  if (!facts.gpu) return none(facts.no_gpu);
  if (facts.gpu->total_bytes <= 0) return none("the driver does not tell the memory in use");
  return value(1 - facts.gpu->peak_used_bytes / facts.gpu->total_bytes);
}

Value batch_time_cv(const LoaderFacts& facts) {
  if (!facts.steady || facts.steady->batch_cv.empty()) return none(kNoDetails);
  const auto median = stats::median(facts.steady->batch_cv);
  return median ? value(*median) : none(median.error().message);
}

std::span<const LoaderMetric> loader_metrics() {
  return kLoaderMetrics;
}

results::LoaderMetrics loader_figures(const LoaderFacts& facts) {
  results::LoaderMetrics figures;
  for (const LoaderMetric& metric : loader_metrics())
    figures.*metric.figure = metric.compute(facts);
  return figures;
}

}  // namespace sluice::analysis
