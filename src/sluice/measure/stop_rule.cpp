// sluice/measure/stop_rule.cpp - count, time, width of the interval, and a best run that is no
// luck.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/stop_rule.h"

#include "sluice/measure/summary.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <algorithm>

namespace sluice::measure {
namespace {

bool has(const std::vector<double>& rates, int runs) {
  return rates.size() >= static_cast<std::size_t>(runs);
}

class CountRule final : public StopRule {
 public:
  explicit CountRule(const Policy& policy) : runs_(policy.runs) {}
  [[nodiscard]] bool finished(const std::vector<double>& rates, double) const override {
    return has(rates, runs_);
  }

 private:
  int runs_;
};

class TimeRule final : public StopRule {
 public:
  explicit TimeRule(const Policy& policy) : runs_(policy.runs), budget_s_(policy.time_budget_s) {}
  [[nodiscard]] bool finished(const std::vector<double>& rates, double elapsed_s) const override {
    return has(rates, runs_) && elapsed_s >= budget_s_;
  }

 private:
  int runs_;
  double budget_s_;
};

/// At least `runs` runs, at most `max_runs`, and in between until they settle.
class OpenEndedRule : public StopRule {
 public:
  explicit OpenEndedRule(const Policy& policy)
      : runs_(policy.runs), max_runs_(policy.max_runs), target_(policy.target_width) {}
  [[nodiscard]] bool finished(const std::vector<double>& rates, double) const final {
    if (has(rates, max_runs_)) return true;
    return has(rates, runs_) && rates.size() >= 2 && settled(rates, target_);
  }

 private:
  [[nodiscard]] virtual bool settled(const std::vector<double>& rates, double target) const = 0;

  int runs_;
  int max_runs_;
  double target_;
};

class WidthRule final : public OpenEndedRule {
 public:
  using OpenEndedRule::OpenEndedRule;

 private:
  [[nodiscard]] bool settled(const std::vector<double>& rates, double target) const override {
    const auto estimate = stats::mean_interval(rates);
    return estimate && estimate->high - estimate->low <= target * estimate->point;
  }
};

class UsualRule final : public OpenEndedRule {
 public:
  using OpenEndedRule::OpenEndedRule;

 private:
  [[nodiscard]] bool settled(const std::vector<double>& rates, double target) const override {
    const auto usual = stats::percentile(rates, 75);  // of rates: the lower quartile of times
    return usual && *std::max_element(rates.begin(), rates.end()) <= *usual * (1 + target);
  }
};

}  // namespace

std::unique_ptr<StopRule> make_stop_rule(const Policy& policy) {
  switch (policy.stop) {
    case StopKind::count:
      return std::make_unique<CountRule>(policy);
    case StopKind::time:
      return std::make_unique<TimeRule>(policy);
    case StopKind::width:
      return std::make_unique<WidthRule>(policy);
    case StopKind::usual:
      return std::make_unique<UsualRule>(policy);
  }
  return std::make_unique<CountRule>(policy);
}

std::vector<double> rates_for(StopKind kind, const Row& row) {
  if (kind != StopKind::usual) return run_rates(row);
  std::vector<double> rates;
  for (const Run& run : row.runs) {
    const std::vector<double> samples(run.samples_ns.begin(), run.samples_ns.end());
    if (const auto middle = stats::median(samples); middle && *middle > 0)
      rates.push_back(static_cast<double>(row.items_per_sample) * 1e9 / *middle);
  }
  return rates;
}

}  // namespace sluice::measure
