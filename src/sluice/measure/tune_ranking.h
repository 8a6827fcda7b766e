// sluice/measure/tune_ranking.h - every setting of a search in one ranking, with intervals; and
// what follows from it: which setting to use, what it may cost, how much data is missing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::measure {

/// One value per axis, in the order of the axes. Compared value by value, the smaller is the
/// cheaper.
using Setting = std::vector<std::int64_t>;

/// One measurement of a search. Those of one block are compared with each other.
struct TuneSample {
  Setting setting;
  int block = 0;
  double rate = 0;  // above 0
};

struct TuneRanked {
  Setting setting;
  int n = 0;        // measurements
  double rate = 0;  // geometric mean, with what is common to the blocks taken out
  /// To the first of the ranking. Absent: it is the first, or the noise is not known.
  std::optional<stats::Estimate> ratio;
};

enum class TuneChoice {
  first,     // of the ranking
  cheapest,  // that is known to lose no more than `worth` to the first
};
const char* to_string(TuneChoice choice);

struct TuneRanking {
  std::vector<TuneRanked> order;  // fastest first; settings that share no block with these are out
  Setting recommended;
  TuneChoice choice = TuneChoice::first;
  /// Share of the rate that is lost if another setting of the ranking is used best; its high end is
  /// the most that the data leave open. Absent: nothing to compare with, or the noise is not known.
  std::optional<stats::Estimate> loss;
  std::optional<stats::Estimate> gain;  // rate of the recommended over that of the reference
  std::optional<double> noise;          // of one measurement, standard deviation as a share
  std::vector<Setting> open;  // may be faster than the recommended by more than `worth`; the most
                              // promising first
  std::vector<Setting> maybe_cheaper;  // may lose no more than `worth`, which is not known yet
  /// Measurements that would close what is open, if the noise stays as it is; 0: nothing is open.
  /// Without a noise: those of a first look.
  double more_measurements = 0;
};

struct RankingOptions {
  double worth = 0.02;  // share of the rate that is worth a dearer setting
  double confidence = 0.95;
  std::optional<Setting> reference;
};

/// Least squares of the logarithms: a rate is that of its setting times that of its block. The
/// noise is taken to be the same in all settings, so that one with a single measurement has an
/// interval too. Intervals are those of one comparison.
TuneRanking rank_settings(const std::vector<TuneSample>& samples, const RankingOptions& options);

}  // namespace sluice::measure
