// sluice/analysis/mixture_json.cpp - a mixture's facts from JSON, its analysis to JSON.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/figures.h"
#include "sluice/analysis/mixture_analysis.h"

#include <cmath>

namespace sluice::analysis {
namespace {

std::uint64_t count_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

Json to_json(const TimeSummary& time) {
  Json json = {{"n", time.n}};
  if (time.n == 0) return json;
  json["mean_s"] = time.mean;
  json["p50_s"] = time.p50;
  json["p90_s"] = time.p90;
  json["p99_s"] = time.p99;
  json["max_s"] = time.max;
  return json;
}

Json shares_json(const MixtureAnalysis& analysis) {
  Json rows = Json::array();
  for (const ShareRow& row : analysis.shares) {
    rows.push_back({{"name", row.name},
                    {"requested", row.requested},
                    {"realised", row.realised},
                    {"samples", row.samples},
                    {"starved", row.starved},
                    {"bad", row.bad}});
  }
  Json json = {{"rows", rows}, {"p", nullptr}, {"p_reason", analysis.share_test_reason}};
  if (!analysis.share_test) return json;
  json.erase("p_reason");
  json["p"] = analysis.share_test->p;
  json["chi_square"] = analysis.share_test->chi_square;
  json["simulated"] = analysis.share_test->simulated;
  json["largest_difference_blocks"] = analysis.largest_blocks;
  return json;
}

}  // namespace

MixtureFacts mixture_facts(const Json& stats) {
  MixtureFacts facts;
  const Json& sources = at(stats, "sources");
  for (const Json& source : sources) {
    if (!source.is_object()) continue;
    const double requested = number_at(source, "requested");
    facts.sources.push_back(
        {.name = text_at(source, "name"),
         .requested = std::isfinite(requested) ? requested : 0,
         .samples = count_at(source, "samples"),
         .starved = count_at(source, "starved"),
         .bad = count_at(source, "bad_records") + count_at(source, "bad_images")});
  }
  const Json& cpu = at(stats, "cpu_s");
  if (cpu.is_object())
    for (const auto& [stage, seconds] : cpu.items())
      if (seconds.is_number()) facts.stage_cpu_s.emplace_back(stage, seconds.get<double>());
  if (const double start = number_at(stats, "start_s"); std::isfinite(start)) facts.start_s = start;
  return facts;
}

Json to_json(const MixtureAnalysis& analysis) {
  Json dominants = Json::array();
  for (const DominantRow& row : analysis.dominants) {
    Json one = {{"name", row.name}, {"first_seen_batch", row.first_seen}};
    one.update(to_json(row.time));
    dominants.push_back(std::move(one));
  }
  Json gaps = Json::array();
  for (const GapBucket& bucket : analysis.gaps) {
    Json one = {{"least", bucket.least}, {"most", bucket.most == 0 ? Json() : Json(bucket.most)}};
    one.update(to_json(bucket.time));
    gaps.push_back(std::move(one));
  }
  Json growth = nullptr;
  if (analysis.memory_growth) {
    growth = {{"point", analysis.memory_growth->point},
              {"low", analysis.memory_growth->low},
              {"high", analysis.memory_growth->high}};
  }
  Json json = {{"measured_batches", analysis.time.n},
               {"warmup_batches", analysis.warmup_batches},
               {"batch_size", analysis.facts.batch_size},
               {"batches_per_s", analysis.batches_per_s},
               {"samples_per_s", analysis.samples_per_s},
               {"time", to_json(analysis.time)},
               {"mean_fetch_s", analysis.mean_fetch_s},
               {"mean_materialize_s", analysis.mean_materialize_s},
               {"unique_dominant_datasets", analysis.dominants.size()},
               {"dominant_switch_rate", analysis.switch_rate},
               {"switched", to_json(analysis.switched)},
               {"stayed", to_json(analysis.stayed)},
               {"first_time", to_json(analysis.first_time)},
               {"returned", to_json(analysis.returned)},
               {"mean_gap_batches", analysis.mean_gap},
               {"p90_gap_batches", analysis.p90_gap},
               {"gaps", gaps},
               {"by_dominant", dominants},
               {"shares", shares_json(analysis)},
               {"memory_growth_bytes_per_1000_batches", growth}};
  if (growth.is_null())
    json["memory_growth_bytes_per_1000_batches_reason"] = analysis.memory_reason;
  return json;
}

}  // namespace sluice::analysis
