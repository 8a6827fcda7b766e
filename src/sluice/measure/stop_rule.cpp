// sluice/measure/stop_rule.cpp - count, time, and relative width of the interval.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/stop_rule.h"

#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

namespace sluice::measure {
namespace {

bool has(const std::vector<double>& rates, int runs) {
  return rates.size() >= static_cast<std::size_t>(runs);
}

class CountRule final : public StopRule {
 public:
  explicit CountRule(const Policy& policy) : runs_(policy.runs) {}
  [[nodiscard]] bool finished(const std::vector<double>& run_rates, double) const override {
    return has(run_rates, runs_);
  }

 private:
  int runs_;
};

class TimeRule final : public StopRule {
 public:
  explicit TimeRule(const Policy& policy) : runs_(policy.runs), budget_s_(policy.time_budget_s) {}
  [[nodiscard]] bool finished(const std::vector<double>& run_rates,
                              double elapsed_s) const override {
    return has(run_rates, runs_) && elapsed_s >= budget_s_;
  }

 private:
  int runs_;
  double budget_s_;
};

class WidthRule final : public StopRule {
 public:
  explicit WidthRule(const Policy& policy)
      : runs_(policy.runs), max_runs_(policy.max_runs), target_(policy.target_width) {}
  [[nodiscard]] bool finished(const std::vector<double>& run_rates, double) const override {
    if (has(run_rates, max_runs_)) return true;
    if (!has(run_rates, runs_) || run_rates.size() < 2) return false;
    const auto estimate = stats::mean_interval(run_rates);
    if (!estimate) return false;
    return estimate->high - estimate->low <= target_ * estimate->point;
  }

 private:
  int runs_;
  int max_runs_;
  double target_;
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
  }
  return std::make_unique<CountRule>(policy);
}

}  // namespace sluice::measure
