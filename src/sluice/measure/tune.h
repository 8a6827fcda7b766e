// sluice/measure/tune.h - finds the setting that runs fastest, and the cheapest one that is as
// good, on evidence; knows no subject.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/core/result.h"
#include "sluice/measure/tune_ranking.h"
#include "sluice/stats/sample.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::measure {

/// A knob and the values it may take, ascending: the larger the dearer.
struct TuneAxis {
  std::string name;
  std::vector<std::int64_t> values;
};

/// 1, 2, 4, ... up to `most`, which is a value too; before them `least` when it is 0.
TuneAxis doubling_axis(std::string name, std::int64_t least, std::int64_t most);

struct TuneOptions {
  /// Dearest first: a setting with a smaller value on an earlier axis is cheaper, whatever the
  /// later ones say.
  std::vector<TuneAxis> axes;
  Setting start;                        // by analysis; its values must be of the axes
  std::optional<Setting> reference;     // what the gain is over; measured too, of the axes or not
  double worth = 0.02;                  // relative; a smaller gain is not worth a dearer setting
  double confidence = 0.95;             // of every interval
  std::vector<int> looks{3, 5, 8, 12};  // pairs after which a comparison is judged; then it is left
  double budget_s = 120;
  std::uint64_t seed = 0;  // of the order within blocks
};

/// The rate of one setting, higher is better. An Error costs the setting (it is not tried again);
/// Errc::interrupted and Errc::usage end the search. `block` is the same for rates that are
/// compared.
using TuneMeasure = std::function<Result<double>(const Setting& setting, int block)>;

enum class TuneOutcome {
  better,     // faster for certain
  worse,      // slower for certain; of a cheaper setting: by more than is worth it
  no_gain,    // not faster by as much as is worth it
  as_good,    // cheaper, and not slower by as much as is worth it
  undecided,  // the looks or the budget ended first
  failed,
};
const char* to_string(TuneOutcome outcome);

/// A setting beside the one that was best until then, measured in the same blocks.
struct TuneComparison {
  Setting setting, against;
  std::vector<double> log_ratios;  // one per block
  stats::Estimate ratio;           // setting over against; 0 with fewer than two pairs
  double standard_error = 0;       // of the logarithm of the ratio
  TuneOutcome outcome = TuneOutcome::undecided;
  std::string reason;  // of a failure
};

struct TuneRate {
  Setting setting;
  std::vector<double> rates;
};

struct TuneResult {
  TuneRanking ranking;                   // of everything measured that did not fail
  Setting best;                          // the first of it
  Setting recommended;                   // the first, or a cheaper one that is known to be as good
  std::vector<TuneComparison> evidence;  // in the order in which they began
  std::vector<TuneRate> rates;           // of everything measured
  bool complete = false;  // the search ended by itself, not by its budget or an interruption
  /// Complete, and nothing measured is left that could bring more than `worth`.
  bool settled = false;
  bool interrupted = false;
  int blocks = 0;
  int measurements = 0;
  double elapsed_s = 0;
};

/// Climbs from the start by steps to the next value (then the one after it) of one axis at a time,
/// then looks at cheaper settings as long as they are as good as the best. What is left of the
/// budget goes to settings that the ranking leaves open. An Error: bad options, or neither the
/// start nor the cheapest setting can be measured.
Result<TuneResult> tune(const TuneOptions& options, const TuneMeasure& measure, Clock& clock);

}  // namespace sluice::measure
