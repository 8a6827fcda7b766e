// sluice/results/summaries.cpp - keys of the summaries of storage, tune and matrix.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/summaries.h"

#include "sluice/results/sections.h"

namespace sluice::results {

static void keys_of(Keys& keys, ReadLatency& latency) {
  keys("p50", latency.p50);
  keys("p90", latency.p90);
  keys("p99", latency.p99);
  keys("max", latency.max);
}

static void keys_of(Keys& keys, StorageLine& line) {
  using measure::RowStatus;
  constexpr RowStatus kStatuses[] = {RowStatus::ok, RowStatus::early_stopped,
                                     RowStatus::unsupported, RowStatus::failed, RowStatus::skipped};
  keys("pattern", line.pattern);
  keys("mode", line.mode);
  keys("concurrency", line.concurrency);
  keys.null_if("size", line.size, line.size == 0);
  keys.choice("status", line.status, kStatuses);
  keys.unless_empty("reason", line.reason);
  keys.null_if("cache", line.cache, line.cache.empty());
  keys.or_null("resident_share", line.resident_share);
  keys.or_null("per_s", line.rate);
  keys.or_null("mb_per_s", line.mb_per_s);
  keys("latency_us", line.latency_us);
  keys("reads", line.reads);
  keys("smallest", line.smallest);
  keys("largest", line.largest);
  keys("memory_share", line.memory_share);
}

static void keys_of(Keys& keys, AllreduceLine& line) {
  keys("bytes", line.bytes);
  keys("sums", line.sums);
  keys("time_us", line.time_us);
  keys("algorithm_gb_per_s", line.algorithm_gb_per_s);
  keys("bus_gb_per_s", line.bus_gb_per_s);
}

static void keys_of(Keys& keys, TuneSetting& setting) {
  keys("workers", setting.workers);
  keys("prefetch", setting.prefetch);
  keys("loader", setting.loader);
  keys("pinned_slots", setting.pinned_slots);
}

static void keys_of(Keys& keys, TuneRate& rate) {
  keys_of(keys, rate.setting);
  keys("n", rate.n);
  keys("rate", rate.rate);
}

static void keys_of(Keys& keys, TunePlace& place) {
  keys_of(keys, place.setting);
  keys("n", place.n);
  keys("rate", place.rate);
  keys("ratio", place.ratio);
}

static void keys_of(Keys& keys, TuneEvidence& one) {
  keys("setting", one.setting);
  keys("against", one.against);
  keys("pairs", one.pairs);
  keys("outcome", one.outcome);
  keys("ratio", one.ratio);
  keys.unless_empty("reason", one.reason);
}

static void keys_of(Keys& keys, TuneScaling& scaling) {
  keys("prefetch", scaling.prefetch);
  keys("loader", scaling.loader);
  keys("workers", scaling.workers);
  keys("rates", scaling.rates);
  keys("lambda", scaling.lambda);
  keys("sigma", scaling.sigma);
  keys("kappa", scaling.kappa);
  keys("error", scaling.error);
  keys.or_null("peak_workers", scaling.peak_workers);
}

static void keys_of(Keys& keys, Versus& one) {
  constexpr Standing kStandings[] = {Standing::win, Standing::tie, Standing::loss, Standing::alone,
                                     Standing::differs};
  keys("case", one.case_name);
  keys("rate", one.rate);
  keys("bytes_per_item", one.bytes_per_item);
  keys.choice("outcome", one.standing, kStandings);
  keys.null_if("fastest_peer", one.peer, one.peer.empty());
  keys.null_if("peer_rate", one.peer_rate, one.peer.empty());
  keys.estimate_or_null("ratio", "ci95", one.ratio);
  std::optional<double> share;
  if (one.of_memcpy) share = one.of_memcpy->point;
  keys.or_null("of_memcpy", share);
  if (!keys.writing() && share) one.of_memcpy = {*share, *share, *share, 0};
  bool different = !one.comparable;
  if (!keys.writing() || different) keys("peer_computes_something_else", different);
  if (!keys.writing()) one.comparable = !different;
}

const char* to_string(Standing standing) {
  switch (standing) {
    case Standing::win:
      return "win";
    case Standing::tie:
      return "tie";
    case Standing::loss:
      return "loss";
    case Standing::differs:
      return "differs";
    case Standing::alone:
      break;
  }
  return "alone";
}

void keys_of(Sections& file, StorageMetrics& storage) {
  file.summary("storage", storage.lines);
}

void keys_of(Sections& file, AllreduceSummary& allreduce) {
  file.summary.object("allreduce", [&](Keys& keys) {
    keys("world_size", allreduce.world_size);
    keys("machines", allreduce.machines);
    keys("library", allreduce.library);
    keys("sizes", allreduce.lines);
  });
}

void keys_of(Sections& file, TuneSummary& tune) {
  file.summary.object("tune", [&](Keys& keys) {
    if (!keys.writing() || tune.library != "sluice") keys("library", tune.library);
    keys("start", tune.start);
    keys("best", tune.best);
    keys("recommended", tune.recommended);
    keys("reference", tune.reference);
    keys("flags", tune.flags);
    keys.unless_empty("paste", tune.paste);
    keys.unless_empty("choice", tune.choice);
    keys("worth", tune.worth);
    keys("confidence", tune.confidence);
    keys("settled", tune.settled);
    if (!keys.writing() || !tune.choice.empty()) {
      keys("complete", tune.complete);
      keys("open", tune.open);
    }
    keys("loss", tune.loss);
    keys("gain", tune.gain);
    keys("noise", tune.noise);
    keys("more_s", tune.more_s);
    keys("expected_loss", tune.expected_loss);
    keys("blocks", tune.blocks);
    keys("elapsed_s", tune.elapsed_s);
    keys("budget_s", tune.budget_s);
    keys.unless_empty("ranking", tune.ranking);
    keys("rates", tune.rates);
    keys("evidence", tune.evidence);
    keys.or_null("scaling", tune.scaling);
  });
}

void keys_of(Sections& file, MatrixRemarks& remarks) {
  file.summary("device", remarks.device);
  file.summary.unless_empty("published", remarks.published);
  file.summary.unless_empty("labels", remarks.labels);
  file.summary.unless_empty("skipped_files", remarks.skipped_files);
  file.summary("not_colour_files", remarks.grey_files);
}

void keys_of(Sections& file, VersusSummary& summary) {
  Keys& keys = file.summary;
  keys("rows", summary.rows);
  keys("wins", summary.wins);
  keys("ties", summary.ties);
  keys("losses", summary.losses);
  keys("alone", summary.alone);
  if (!keys.writing() || summary.different > 0) keys("different", summary.different);
  keys.estimate_or_null("geomean_ratio", "geomean_ci95", summary.geomean);
  keys.null_if("slowest_ratio", summary.slowest_ratio, !summary.geomean);
  keys.null_if("slowest_case", summary.slowest_case, !summary.geomean);
  keys("not_measured", summary.failed);
  keys("versus", summary.versus);
}

}  // namespace sluice::results
