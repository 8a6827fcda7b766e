// sluice/analysis/mixture/json.cpp - a mixture's facts from JSON, its analysis as metrics.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/analysis.h"
#include "sluice/core/text.h"

#include <cmath>

namespace sluice::analysis {
namespace {

std::optional<double> finite_number(const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

std::uint64_t count_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

}  // namespace

MixtureFacts mixture_facts(const Json& stats) {
  MixtureFacts facts;
  const Json& sources = at(stats, "sources");
  for (const Json& source : sources) {
    if (!source.is_object()) continue;
    facts.sources.push_back(
        {.name = printable(string_at(source, "name")),
         .requested = finite_number(at(source, "requested")).value_or(0),
         .samples = count_at(source, "samples"),
         .starved = count_at(source, "starved"),
         .bad = count_at(source, "bad_records") + count_at(source, "bad_images"),
         .samples_read = count_at(source, "samples_read"),
         .samples_decoded = count_at(source, "samples_decoded"),
         .read_s = finite_number(at(source, "read_s")).value_or(0),
         .decode_s = finite_number(at(source, "decode_s")).value_or(0)});
  }
  const Json& cpu = at(stats, "cpu_s");
  if (cpu.is_object())
    for (const auto& [stage, seconds] : cpu.items())
      if (seconds.is_number()) facts.stage_cpu_s.emplace_back(stage, seconds.get<double>());
  facts.start_s = finite_number(at(stats, "start_s"));
  return facts;
}

results::MixtureMetrics mixture_metrics(const MixtureAnalysis& analysis) {
  results::MixtureMetrics metrics;
  metrics.measured_batches = analysis.time.n;
  metrics.warmup_batches = analysis.warmup_batches;
  metrics.batch_size = analysis.facts.batch_size;
  metrics.batches_per_s = analysis.batches_per_s;
  metrics.samples_per_s = analysis.samples_per_s;
  metrics.time = analysis.time;
  metrics.mean_fetch_s = analysis.mean_fetch_s;
  metrics.mean_materialize_s = analysis.mean_materialize_s;
  metrics.unique_dominants = analysis.dominants.size();
  metrics.switch_rate = analysis.switch_rate;
  metrics.switched = analysis.switched;
  metrics.stayed = analysis.stayed;
  metrics.first_time = analysis.first_time;
  metrics.returned = analysis.returned;
  metrics.mean_gap = analysis.mean_gap;
  metrics.p90_gap = analysis.p90_gap;
  metrics.gaps = {analysis.gaps.begin(), analysis.gaps.end()};
  metrics.dominants = analysis.dominants;
  metrics.shares.rows = analysis.shares;
  metrics.shares.p.reason = analysis.share_test_reason;
  if (analysis.share_test) {
    metrics.shares.p = {analysis.share_test->p, ""};
    metrics.shares.chi_square = analysis.share_test->chi_square;
    metrics.shares.simulated = analysis.share_test->simulated;
    metrics.shares.largest_difference_blocks = analysis.largest_blocks;
  }
  metrics.weighted = analysis.weighted;
  metrics.bottlenecks = analysis.bottlenecks;
  metrics.memory_growth = {analysis.memory_growth, analysis.memory_reason};
  return metrics;
}

}  // namespace sluice::analysis
