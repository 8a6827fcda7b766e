// sluice/results/loader_metrics.cpp - keys of the conclusions of `bench dataloader`.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/loader_metrics.h"

#include "sluice/results/sections.h"

namespace sluice::results {
namespace {

struct FigureKey {
  const char* key;
  LoaderMetrics::Figure LoaderMetrics::*figure;
};
constexpr FigureKey kFigures[] = {
    {"throughput_samples_per_sec", &LoaderMetrics::throughput},
    {"load_time_per_batch_ms", &LoaderMetrics::load_time_ms},
    {"first_epoch_samples_per_sec", &LoaderMetrics::first_epoch_rate},
    {"batch_time_cv", &LoaderMetrics::batch_time_cv},
    {"gpu_utilization_percent", &LoaderMetrics::gpu_utilisation_percent},
    {"idle_vram", &LoaderMetrics::idle_vram},
    {"sync_overhead", &LoaderMetrics::sync_overhead},
    {"cpu_usage_percent", &LoaderMetrics::cpu_usage_percent},
    {"memory_used_gb", &LoaderMetrics::memory_used_gb},
    {"memory_total_gb", &LoaderMetrics::memory_total_gb},
    {"memory_slope_mb_per_epoch", &LoaderMetrics::memory_slope_mb_per_epoch},
    {"worker_efficiency", &LoaderMetrics::worker_efficiency},
    {"worker_overhead", &LoaderMetrics::worker_overhead},
    {"prefetch_efficiency", &LoaderMetrics::prefetch_efficiency},
    {"cache_hit_rate", &LoaderMetrics::cache_hit_rate},
    {"warm_cache_hit_rate", &LoaderMetrics::warm_cache_hit_rate},
    {"download_mb_per_s", &LoaderMetrics::download_mb_per_s},
    {"network_overhead", &LoaderMetrics::network_overhead},
    {"parallel_download_efficiency", &LoaderMetrics::parallel_download_efficiency},
    {"mmap_effectiveness", &LoaderMetrics::mmap_effectiveness},
    {"first_batch_ms", &LoaderMetrics::first_batch_ms},
    {"shutdown_ms", &LoaderMetrics::shutdown_ms},
};

}  // namespace

static void keys_of(Keys& keys, LoaderSweepLine& line) {
  keys("num_workers", line.workers);
  keys("prefetch", line.prefetch);
  keys.estimate("samples_per_sec", "ci95", line.samples_per_s);
  keys("optimal", line.optimal);
  keys("memory_bytes", line.memory_bytes);
}

static void keys_of(Keys& keys, WorkerGuide& guide) {
  keys("bytes_per_worker", guide.bytes_per_worker);
  keys("knee", guide.knee);
  keys("most_tried", guide.most);
  keys("past_knee", guide.past_knee);
  keys("advice", guide.advice);
}

static void keys_of(Keys& keys, BundlingGain& gain) {
  keys("first_epoch_ratio", gain.first_epoch);
  keys.estimate("ratio", "ci95", gain.later);
}

static void keys_of(Keys& keys, FirstEpoch& epoch) {
  keys("page_cache", epoch.page_cache);
  keys("samples", epoch.samples);
}

static void keys_of(Keys& keys, RecommendedFlags& recommended) {
  keys("reason", recommended.reason);
  keys("flags", recommended.flags);
}

const char* key_of(LoaderMetrics::Figure LoaderMetrics::*figure) {
  for (const FigureKey& one : kFigures)
    if (one.figure == figure) return one.key;
  return "";
}

void keys_of(Sections& file, LoaderMetrics& loader) {
  for (const FigureKey& one : kFigures)
    file.metrics(one.key, loader.*one.figure);
  file.metrics("workers", loader.workers);
  file.metrics("batch_size", loader.batch_size);
  file.summary("targets", loader.targets);
  file.summary("indicators", loader.indicators);
  file.summary.unless_empty("stages", loader.stages);
  file.summary("diagnosis", loader.findings);
  file.summary("step", loader.step);
  file.summary.unless_empty("sweep", loader.sweep);
  file.summary("worker_guide", loader.guide);
  file.summary("recommended", loader.recommended);
  file.summary.or_null("epoch", loader.epoch);
  file.summary("first_epoch", loader.first_epoch);
  file.summary("bundling", loader.bundling);
  file.verdict("limit", loader.limit);
  file.verdict("is_it_the_loader", loader.is_it_the_loader);
  file.verdict.unless_empty("statement", loader.statement);
}

}  // namespace sluice::results
