// sluice/results/mixture_metrics.h - what `bench mixture` concludes from its runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/results/conclusions.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::results {

struct TimeSummary {  // seconds; all 0 for none
  std::size_t n = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

struct DominantRow {
  std::string name;
  TimeSummary time;              // of the measured batches it dominated
  std::uint64_t first_seen = 0;  // idx of the first batch that holds it, warm-up counted
};

struct GapBucket {
  std::uint64_t least = 0;
  std::uint64_t most = 0;  // 0: no end
  TimeSummary time;
};

struct ShareRow {
  std::string name;
  double requested = 0;
  double realised = 0;
  std::uint64_t samples = 0;
  std::uint64_t starved = 0;
  std::uint64_t bad = 0;
};

/// Shares that were asked for, and those that came.
struct MixtureShares {
  std::vector<ShareRow> rows;
  measure::Measured<double> p;  // of counts at least as far off
  std::optional<double> chi_square;
  std::optional<bool> simulated;
  std::optional<double> largest_difference_blocks;
  std::optional<double> bound;  // what `deficit` keeps to, as a share
};

struct StageCpu {
  std::string name;
  double cpu_s = 0;
  double share = 0;  // of what the process used
};

/// How often a data set had more of a batch than any other, for what was asked for of it.
struct WeightedRow {
  std::string name;
  std::uint64_t alone = 0;     // batches
  std::uint64_t tied = 0;      // batches in which others had as much
  std::uint64_t by_count = 0;  // batches that it dominates by plain count, of equals the first seen
  double mean_s = 0;           // of the batches it dominates alone or tied
};

/// Dominance by samples over the requested share. By plain count alone, equal weights make every
/// data set of a batch the largest, and which one is called so depends on the order.
struct WeightedDominance {
  std::uint64_t batches = 0;            // measured, with known counts
  std::uint64_t decided = 0;            // with one dominant
  double mean_tied = 0;                 // data sets that share the first place, over all batches
  std::optional<double> switch_rate{};  // of decided neighbours; none: there are none
  std::vector<WeightedRow> rows{};      // most batches alone first
};

/// What a data set costs the threads.
struct BottleneckRow {
  std::string name;
  double read_ms = 0;     // a sample, by the clock of readers
  double decode_ms = 0;   // a sample, thread time of decoders
  double time_s = 0;      // both, of the run
  double share = 0;       // of that of all data sets
  double of_samples = 0;  // its share of the samples read: below `share`, it is dearer than others
  std::uint64_t starved = 0;
};

/// One pass over the validation split.
struct ValidationRow {
  std::string name, type, split;
  std::uint64_t episodes = 0;  // of the split
  std::uint64_t seen = 0;      // with a pair in a batch
  std::uint64_t too_short = 0, bad = 0;
  std::uint64_t samples = 0;
  std::uint64_t without_language = 0;
};
struct MixtureValidation {
  std::uint64_t batches = 0, samples = 0;
  double time_s = 0;
  bool whole = false;  // every episode was seen, too short or bad
  std::vector<ValidationRow> rows{};
};

/// Of the run that is shown. Other analyses of batch times have none of what is optional.
struct MixtureMetrics {
  std::uint64_t measured_batches = 0, warmup_batches = 0;
  int batch_size = 0;
  double batches_per_s = 0, samples_per_s = 0;
  TimeSummary time;
  double mean_fetch_s = 0, mean_materialize_s = 0;
  std::uint64_t unique_dominants = 0;
  double switch_rate = 0;
  TimeSummary switched, stayed, first_time, returned;
  double mean_gap = 0, p90_gap = 0;
  std::vector<GapBucket> gaps;
  std::vector<DominantRow> dominants;
  MixtureShares shares;
  measure::Measured<stats::Estimate> memory_growth;  // bytes per 1,000 batches
  std::optional<double> start_s, open_s, teardown_s, wait_fraction;
  std::optional<double> step_s;                   // of what the batches feed
  std::optional<std::pair<double, double>> loss;  // after the first and the last batch
  std::vector<StageCpu> stages;
  std::optional<double> stage_sum_s, process_s;
  std::optional<std::string> schedule_hash;
  std::optional<WeightedDominance> weighted;  // none: shares or counts are not known
  std::vector<BottleneckRow> bottlenecks;     // most time first
  std::optional<MixtureValidation> validation;
};

/// A run of a library, in one line.
struct MixtureRunLine {
  std::string case_name, library;
  int block = 0;
  double batches_per_s = 0, samples_per_s = 0;
  double mean_s = 0, p50_s = 0, p90_s = 0, p99_s = 0, max_s = 0;
  double start_s = 0, teardown_s = 0, wait_fraction = 0;
  std::vector<std::pair<std::string, double>> cpu_ms_per_sample;  // the process, and its stages
  std::string schedule_hash;
  std::optional<stats::Estimate> memory_growth;  // bytes per 1,000 batches
};

struct StarvedSource {
  std::string name;
  std::uint64_t blocks = 0;
};

struct MixtureSummary {
  std::vector<MixtureRunLine> runs;
  std::optional<std::vector<StarvedSource>> starved;
  std::optional<std::vector<std::string>> remarks;
  bool short_run = false;
  std::string statement;
};

Json to_json(const MixtureMetrics& metrics);

void keys_of(Keys& keys, MixtureMetrics& metrics);
void keys_of(Sections& file, MixtureSummary& summary);

}  // namespace sluice::results
