// sluice/analysis/mixture/analysis.h - what the batch times of a mixture say, as numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/results/batch_times.h"
#include "sluice/results/mixture_metrics.h"
#include "sluice/stats/sample.h"
#include "sluice/stats/shares.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::analysis {

/// What batch times alone do not say. Every part may be missing.
struct MixtureFacts {
  int batch_size = 0;  // 0: the samples of the largest batch
  int mix_block = 0;   // samples that are drawn together; 0: not known
  std::string mix;     // "random", "deficit"; empty: not known
  struct Source {      // over the whole run, warm-up counted
    std::string name;
    double requested = 0;  // share
    std::uint64_t samples = 0;
    std::uint64_t starved = 0;  // times it was due and had nothing ready
    std::uint64_t bad = 0;      // records and images that could not be used
    std::uint64_t samples_read = 0, samples_decoded = 0;  // 0: not counted, and no times then
    double read_s = 0, decode_s = 0;
  };
  std::vector<Source> sources;
  std::vector<std::pair<std::string, double>> stage_cpu_s;
  std::optional<double> cpu_s;    // of the whole process, which the stages should sum to
  std::optional<double> start_s;  // from opening to the first batch
  std::optional<double> stop_s;   // from the last batch to the end of the last thread
};

/// Of the JSON of a loader::mixture::MixtureStats: sources, stages, start-up.
MixtureFacts mixture_facts(const Json& stats);

using results::BottleneckRow;
using results::DominantRow;
using results::GapBucket;
using results::ShareRow;
using results::TimeSummary;
using results::WeightedDominance;

/// All times of measured batches, those of the warm-up are in `slowest` and `first_seen` only.
struct MixtureAnalysis {
  MixtureFacts facts;
  std::size_t warmup_batches = 0;
  TimeSummary time;
  double mean_fetch_s = 0;
  double mean_materialize_s = 0;
  double batches_per_s = 0;
  double samples_per_s = 0;            // nominal batch size x batches_per_s
  std::vector<DominantRow> dominants;  // slowest mean first
  double switch_rate = 0;              // of neighbours whose dominant data set is known
  TimeSummary switched;                // batches whose dominant differs from the one before
  TimeSummary stayed;
  TimeSummary first_time;  // batches whose dominant had not dominated before
  TimeSummary returned;    // the others
  double mean_gap = 0;
  double p90_gap = 0;
  std::array<GapBucket, 4> gaps{};
  std::vector<results::BatchTime> slowest;
  std::vector<ShareRow> shares;                  // of facts.sources; largest difference first
  std::optional<stats::ShareTest> share_test;    // of blocks drawn; `index` is of `shares`
  std::string share_test_reason;                 // why there is none
  double largest_blocks = 0;                     // the largest difference in blocks
  std::optional<stats::Estimate> memory_growth;  // bytes per 1,000 batches
  std::string memory_reason;                     // why there is none
  std::optional<WeightedDominance> weighted{};   // of facts.sources; none: shares are not known
  std::vector<BottleneckRow> bottlenecks{};      // most time first; empty: not counted
};

inline constexpr std::size_t kSlowestShown = 10;

/// Refuses batch times without a measured batch.
Result<MixtureAnalysis> analyse_mixture(std::span<const results::BatchTime> batches,
                                        MixtureFacts facts = {},
                                        std::size_t slowest = kSlowestShown);

/// Dominance by samples over requested share. Counts are compared as ratios, and those that differ
/// by rounding alone are equal. None: no batch has counts of data sets whose share is known.
std::optional<WeightedDominance> weighted_dominance(
    const std::vector<const results::BatchTime*>& measured,
    const std::vector<MixtureFacts::Source>& sources);

/// Data sets by the time of readers and decoders that they took, the dearest first.
std::vector<BottleneckRow> bottlenecks_of(const std::vector<MixtureFacts::Source>& sources);

/// #(neighbours that differ) / max(1, n - 1) over known dominants of measured batches.
double dominant_switch_rate(std::span<const results::BatchTime> batches);

/// The numbers for a result file.
results::MixtureMetrics mixture_metrics(const MixtureAnalysis& analysis);

}  // namespace sluice::analysis
