// sluice/results/mixture_metrics.cpp - keys of the conclusions of `bench mixture`.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/mixture_metrics.h"

#include "sluice/results/sections.h"

namespace sluice::results {

static void keys_of(Keys& keys, TimeSummary& time) {
  keys("n", time.n);
  if (keys.writing() && time.n == 0) return;
  keys("mean_s", time.mean);
  keys("p50_s", time.p50);
  keys("p90_s", time.p90);
  keys("p99_s", time.p99);
  keys("max_s", time.max);
}

static void keys_of(Keys& keys, DominantRow& row) {
  keys("name", row.name);
  keys("first_seen_batch", row.first_seen);
  keys_of(keys, row.time);
}

static void keys_of(Keys& keys, GapBucket& bucket) {
  keys("least", bucket.least);
  keys.null_if("most", bucket.most, bucket.most == 0);
  keys_of(keys, bucket.time);
}

static void keys_of(Keys& keys, ShareRow& row) {
  keys("name", row.name);
  keys("requested", row.requested);
  keys("realised", row.realised);
  keys("samples", row.samples);
  keys("starved", row.starved);
  keys("bad", row.bad);
}

static void keys_of(Keys& keys, MixtureShares& shares) {
  keys("rows", shares.rows);
  keys("p", shares.p);
  keys("chi_square", shares.chi_square);
  keys("simulated", shares.simulated);
  keys("largest_difference_blocks", shares.largest_difference_blocks);
  keys("bound", shares.bound);
}

static void keys_of(Keys& keys, StageCpu& stage) {
  keys("cpu_s", stage.cpu_s);
  keys("share", stage.share);
}

static void keys_of(Keys& keys, WeightedRow& row) {
  keys("name", row.name);
  keys("alone", row.alone);
  keys("tied", row.tied);
  keys("by_count", row.by_count);
  keys("mean_s", row.mean_s);
}

static void keys_of(Keys& keys, WeightedDominance& weighted) {
  keys("batches", weighted.batches);
  keys("decided", weighted.decided);
  keys("mean_tied", weighted.mean_tied);
  keys("switch_rate", weighted.switch_rate);
  keys("rows", weighted.rows);
}

static void keys_of(Keys& keys, BottleneckRow& row) {
  keys("name", row.name);
  keys("read_ms_per_sample", row.read_ms);
  keys("decode_ms_per_sample", row.decode_ms);
  keys("time_s", row.time_s);
  keys("share", row.share);
  keys("share_of_samples", row.of_samples);
  keys("starved", row.starved);
}

static void keys_of(Keys& keys, ValidationRow& row) {
  keys("name", row.name);
  keys("type", row.type);
  keys("split", row.split);
  keys("episodes", row.episodes);
  keys("seen", row.seen);
  keys("too_short", row.too_short);
  keys("bad", row.bad);
  keys("samples", row.samples);
  keys("without_language", row.without_language);
}

static void keys_of(Keys& keys, MixtureValidation& validation) {
  keys("batches", validation.batches);
  keys("samples", validation.samples);
  keys("time_s", validation.time_s);
  keys("whole", validation.whole);
  keys("data_sets", validation.rows);
}

static void keys_of(Keys& keys, MixtureRunLine& run) {
  keys("case", run.case_name);
  keys("library", run.library);
  keys("block", run.block);
  keys("batches_per_s", run.batches_per_s);
  keys("samples_per_s", run.samples_per_s);
  keys("mean_s", run.mean_s);
  keys("p50_s", run.p50_s);
  keys("p90_s", run.p90_s);
  keys("p99_s", run.p99_s);
  keys("max_s", run.max_s);
  keys("start_s", run.start_s);
  keys("teardown_s", run.teardown_s);
  keys("wait_fraction", run.wait_fraction);
  keys("cpu_ms_per_sample", run.cpu_ms_per_sample);
  keys("schedule_hash", run.schedule_hash);
  keys("memory_growth_bytes_per_1000_batches", run.memory_growth);
}

static void keys_of(Keys& keys, StarvedSource& source) {
  keys("name", source.name);
  keys("blocks", source.blocks);
}

/// `cpu`: the stages by name, and their sum.
static void keys_of_cpu(Keys& keys, MixtureMetrics& metrics) {
  if (keys.writing() ? !metrics.process_s : !keys.has("cpu")) return;
  keys.object("cpu", [&](Keys& cpu) {
    cpu.by_name("stages", metrics.stages);
    cpu("sum_s", metrics.stage_sum_s);
    cpu("process_s", metrics.process_s);
  });
}

void keys_of(Keys& keys, MixtureMetrics& metrics) {
  keys("measured_batches", metrics.measured_batches);
  keys("warmup_batches", metrics.warmup_batches);
  keys("batch_size", metrics.batch_size);
  keys("batches_per_s", metrics.batches_per_s);
  keys("samples_per_s", metrics.samples_per_s);
  keys("time", metrics.time);
  keys("mean_fetch_s", metrics.mean_fetch_s);
  keys("mean_materialize_s", metrics.mean_materialize_s);
  keys("unique_dominant_datasets", metrics.unique_dominants);
  keys("dominant_switch_rate", metrics.switch_rate);
  keys("switched", metrics.switched);
  keys("stayed", metrics.stayed);
  keys("first_time", metrics.first_time);
  keys("returned", metrics.returned);
  keys("mean_gap_batches", metrics.mean_gap);
  keys("p90_gap_batches", metrics.p90_gap);
  keys("gaps", metrics.gaps);
  keys("by_dominant", metrics.dominants);
  keys("shares", metrics.shares);
  keys("memory_growth_bytes_per_1000_batches", metrics.memory_growth);
  keys("start_s", metrics.start_s);
  keys("open_s", metrics.open_s);
  keys("teardown_s", metrics.teardown_s);
  keys("wait_fraction", metrics.wait_fraction);
  keys("step_s", metrics.step_s);
  if (keys.has("loss")) metrics.loss.emplace();
  if (metrics.loss)
    keys.object("loss", [&](Keys& loss) {
      loss("first", metrics.loss->first);
      loss("last", metrics.loss->second);
    });
  keys_of_cpu(keys, metrics);
  keys("schedule_hash", metrics.schedule_hash);
  keys("by_weight", metrics.weighted);
  keys.unless_empty("bottlenecks", metrics.bottlenecks);
  keys("validation", metrics.validation);
}

void keys_of(Sections& file, MixtureSummary& summary) {
  file.summary("runs", summary.runs);
  file.summary("starved", summary.starved);
  file.summary("remarks", summary.remarks);
  file.verdict("short_run", summary.short_run);
  file.verdict.unless_empty("statement", summary.statement);
}

Json to_json(const MixtureMetrics& metrics) {
  Json json;
  Keys::put(json, metrics);
  return json;
}

}  // namespace sluice::results
