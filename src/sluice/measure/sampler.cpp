// sluice/measure/sampler.cpp - the timed region: nothing here but two clock readings around the
// subject's passes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/sampler.h"

#include "sluice/measure/inject.h"

#include <algorithm>

namespace sluice::measure {

void WarmUpRule::add(std::int64_t pass_ns) {
  elapsed_ns_ += pass_ns;
  if (passes_ == 0 || static_cast<double>(pass_ns) < 0.98 * static_cast<double>(best_ns_)) {
    best_ns_ = pass_ns;
    since_best_ = 0;
  } else {
    ++since_best_;
  }
  ++passes_;
}

bool WarmUpRule::finished() const {
  if (elapsed_ns_ >= limit_ns_) return true;
  return elapsed_ns_ >= min_ns_ && since_best_ >= 2;
}

std::int64_t preflight_pass_ns(Subject& subject, Clock& clock, std::int64_t slow_pass_ns) {
  constexpr std::int64_t kBudgetNs = 20'000'000;
  constexpr std::int64_t kGroupNs = 100'000;  // beside this, reading the clock costs nothing
  constexpr std::int64_t kMaxGroup = 1 << 20;
  std::int64_t best = 0;
  std::int64_t total = 0;
  std::int64_t group = 1;
  std::int64_t passes = 0;
  do {
    const std::int64_t start = clock.now_ns();
    for (std::int64_t i = 0; i < group; ++i)
      subject.run_pass();
    const std::int64_t elapsed = std::max<std::int64_t>(clock.now_ns() - start, 1);
    const std::int64_t pass = std::max<std::int64_t>(elapsed / group, 1);
    best = best == 0 ? pass : std::min(best, pass);
    total += elapsed;
    passes += group;
    if (slow_pass_ns > 0 && pass >= slow_pass_ns) break;
    if (elapsed < kGroupNs) group *= 2;
  } while (total < kBudgetNs && group <= kMaxGroup);
  return subject.works_ahead() ? std::max<std::int64_t>(total / passes, 1) : best;
}

std::int64_t preflight_items_ns(Subject& subject, Clock& clock, std::int64_t slow_pass_ns,
                                std::int64_t items) {
  constexpr std::int64_t kShortPassNs = 200'000'000;
  const std::int64_t in_pass = subject.items_per_pass();
  items = std::clamp<std::int64_t>(items, 1, in_pass);
  // Time for all `items` at the limit: once over it, the mean cannot come below the limit again.
  const double limit_ns =
      static_cast<double>(slow_pass_ns) / static_cast<double>(in_pass) * static_cast<double>(items);
  std::int64_t elapsed = 0;
  std::int64_t done = 0;
  while (done < items) {
    const std::int64_t start = clock.now_ns();
    const std::int64_t step = subject.run_items(done, 1);
    if (step <= 0) return preflight_pass_ns(subject, clock, slow_pass_ns);
    done += step;
    elapsed += std::max<std::int64_t>(clock.now_ns() - start, 1);
    if (slow_pass_ns > 0 && static_cast<double>(elapsed) > limit_ns) break;
  }
  const double pass_ns =
      static_cast<double>(elapsed) / static_cast<double>(done) * static_cast<double>(in_pass);
  if (pass_ns < static_cast<double>(kShortPassNs))
    return preflight_pass_ns(subject, clock, slow_pass_ns);
  return static_cast<std::int64_t>(std::min(pass_ns, 1e15));
}

std::int64_t passes_per_sample(std::int64_t pass_ns, std::int64_t min_sample_ns) {
  if (pass_ns <= 0) return 1;
  return std::max<std::int64_t>(1, min_sample_ns / pass_ns + (min_sample_ns % pass_ns > 0 ? 1 : 0));
}

std::int64_t warm_up(Subject& subject, Clock& clock, WarmUpRule rule, std::int64_t passes_hint) {
  // Short passes are grouped, so that reading the clock costs a warm-up of nanosecond passes
  // nothing.
  const std::int64_t group = std::max<std::int64_t>(1, passes_hint / 64);
  std::int64_t passes = 0;
  while (!rule.finished()) {
    const std::int64_t start = clock.now_ns();
    for (std::int64_t i = 0; i < group; ++i)
      subject.run_pass();
    rule.add(std::max<std::int64_t>(clock.now_ns() - start, 1));
    passes += group;
  }
  return passes;
}

bool warm_up_items(Subject& subject, Clock& clock, std::int64_t min_ns) {
  const std::int64_t start = clock.now_ns();
  for (std::int64_t done = 0; done < subject.items_per_pass();) {
    const std::int64_t step = subject.run_items(done, 1);
    if (step <= 0) return false;
    done += step;
    if (clock.now_ns() - start >= min_ns) return true;
  }
  return false;
}

Sample take_sample(Subject& subject, Clock& clock, std::int64_t passes, double extra) {
  Sample sample;
  sample.start_ns = clock.now_ns();
  for (std::int64_t i = 0; i < passes; ++i)
    subject.run_pass();
  stretch(clock, sample.start_ns, extra);
  sample.elapsed_ns = clock.now_ns() - sample.start_ns;
  return sample;
}

}  // namespace sluice::measure
