// sluice/measure/sampler.h - warm-up and timed samples of one subject, inside its own process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/measure/worker/subject.h"

#include <cstdint>
#include <string>

namespace sluice::measure {

/// Ends the warm-up by a rule: at least `min_ns`, then as soon as two passes in a row set no new
/// best by over 2 %, but never after `limit_ns`.
class WarmUpRule {
 public:
  WarmUpRule(std::int64_t min_ns, std::int64_t limit_ns) : min_ns_(min_ns), limit_ns_(limit_ns) {}
  void add(std::int64_t pass_ns);
  [[nodiscard]] bool finished() const;
  [[nodiscard]] int passes() const { return passes_; }

 private:
  std::int64_t min_ns_;
  std::int64_t limit_ns_;
  std::int64_t elapsed_ns_ = 0;
  std::int64_t best_ns_ = 0;
  int passes_ = 0;
  int since_best_ = 0;
};

/// Time of one pass, for sizing samples and for the slow preflight: the first pass alone when it is
/// already slow, else the fastest of about 20 ms. Passes under 100 us are timed in groups, so that
/// a pass of nanoseconds is not taken for as long as a reading of the clock.
std::int64_t preflight_pass_ns(Subject& subject, Clock& clock, std::int64_t slow_pass_ns);

/// The same from the first `items` items alone, without a warm-up: time per item times the items of
/// a pass. Gives up after an item when the limit is passed for certain. Passes that turn out short,
/// and those that cannot be divided, are measured whole.
std::int64_t preflight_items_ns(Subject& subject, Clock& clock, std::int64_t slow_pass_ns,
                                std::int64_t items);

/// Whole passes per sample so that it lasts at least `min_sample_ns`.
std::int64_t passes_per_sample(std::int64_t pass_ns, std::int64_t min_sample_ns);

/// Untimed passes until the rule is satisfied; returns how many. `passes_hint` is the size of the
/// coming sample.
std::int64_t warm_up(Subject& subject, Clock& clock, WarmUpRule rule, std::int64_t passes_hint);

/// For passes longer than the warm-up: single items until `min_ns` are over. False when a whole
/// pass is shorter than that, or cannot be divided: then warm_up() is due.
bool warm_up_items(Subject& subject, Clock& clock, std::int64_t min_ns);

struct Sample {
  std::int64_t start_ns = 0;
  std::int64_t elapsed_ns = 0;
};

/// One timed sample of `passes` passes. `extra` is the share of injected slowdown (0 normally), see
/// inject.h: that share of the elapsed time is waited for inside the sample.
Sample take_sample(Subject& subject, Clock& clock, std::int64_t passes, double extra = 0);

}  // namespace sluice::measure
