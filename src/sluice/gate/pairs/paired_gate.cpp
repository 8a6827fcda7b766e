// sluice/gate/pairs/paired_gate.cpp - the sequence of pairs, looks and confirmations.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_gate.h"

#include "sluice/core/text.h"
#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

class Series {
 public:
  Series(const std::vector<PairedMetric>& metrics, const PairedOptions& options,
         const TakePair& take)
      : take_(take), decided_(metrics.size(), false) {
    outcome_.options = options;
    for (const PairedMetric& metric : metrics) {
      PairedMetricOutcome one;
      one.metric = metric;
      if (one.metric.tau <= 0) one.metric.tau = options.tau;
      outcome_.metrics.push_back(std::move(one));
      if (metric.blocking) ++family_;
    }
  }

  Result<PairedOutcome> run() {
    if (family_ == 0) return Error{Errc::usage, "no metric to judge: expected at least one"};
    for (const PairedLook& look : outcome_.options.looks) {
      while (outcome_.pairs < look.pairs) {
        SLUICE_CHECK(take(false));
        ++outcome_.pairs;
      }
      SLUICE_CHECK(judge(outcome_.options.alpha * look.alpha_share));
      if (failed_ || all_decided()) break;
    }
    return std::move(outcome_);
  }

 private:
  Status take(bool confirming) {
    const int index = outcome_.pairs + outcome_.confirm_pairs;
    SLUICE_TRY(const std::vector<PairValue> values, take_(index, confirming));
    if (values.size() != outcome_.metrics.size())
      return Error{Errc::internal, "a pair with another number of values than metrics"};
    for (std::size_t i = 0; i < values.size(); ++i) {
      PairedMetricOutcome& one = outcome_.metrics[i];
      SLUICE_CHECK(check_value(values[i].a, "A", one.metric.name));
      SLUICE_CHECK(check_value(values[i].b, "B", one.metric.name));
      (confirming ? one.confirm_a : one.a).push_back(values[i].a);
      (confirming ? one.confirm_b : one.b).push_back(values[i].b);
    }
    return ok;
  }

  static Status check_value(double value, const char* side, const std::string& metric) {
    if (std::isfinite(value) && value > 0) return ok;
    return Error{Errc::measurement,
                 fmt::format("{} of {} is {}: pairs are compared as ratios, so a number above 0 is "
                             "needed",
                             printable(metric), side, value)};
  }

  [[nodiscard]] PairedOptions options_of(const PairedMetric& metric) const {
    PairedOptions options = outcome_.options;
    options.tau = metric.tau;
    return options;
  }

  Status judge(double level) {
    std::vector<PairedEvidence> now(outcome_.metrics.size());
    std::vector<PairedEvidence*> blocking;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const PairedMetricOutcome& one = outcome_.metrics[i];
      const auto ratios = log_ratios(one.a, one.b, one.metric.better);
      SLUICE_TRY(now[i], weigh(ratios, level, family_, options_of(one.metric)));
      if (one.metric.blocking) blocking.push_back(&now[i]);
    }
    SLUICE_CHECK(adjust(blocking));
    std::vector<std::size_t> alarms;
    for (std::size_t i = 0; i < now.size(); ++i) {
      PairedMetricOutcome& one = outcome_.metrics[i];
      if (decided_[i]) continue;
      one.evidence = now[i];
      one.status = judge_pairs(now[i], options_of(one.metric));
      const bool alarm = one.status == GateStatus::fail;
      if (alarm && one.metric.blocking) alarms.push_back(i);
      if (alarm && !one.metric.blocking) one.status = GateStatus::warn;
      decided_[i] = one.metric.blocking && !alarm && one.status != GateStatus::inconclusive;
    }
    if (alarms.empty()) return ok;
    return confirm(alarms);
  }

  Status confirm(const std::vector<std::size_t>& alarms) {
    const PairedOptions& options = outcome_.options;
    if (options.confirm_pairs == 0) {
      failed_ = true;
      return ok;
    }
    for (int i = 0; i < options.confirm_pairs; ++i) {
      SLUICE_CHECK(take(true));
      ++outcome_.confirm_pairs;
    }
    for (const std::size_t i : alarms) {
      PairedMetricOutcome& one = outcome_.metrics[i];
      auto ratios = log_ratios(one.confirm_a, one.confirm_b, one.metric.better);
      ratios.erase(ratios.begin(), ratios.end() - options.confirm_pairs);
      SLUICE_TRY(const stats::TTest t,
                 stats::one_sample_t(ratios, {stats::Alternative::less, 0.95}));
      const bool confirmed = t.p <= options.confirm_alpha;
      one.confirmations.push_back(
          {outcome_.pairs, options.confirm_pairs, t.difference, t.p, confirmed});
      one.status = confirmed ? GateStatus::fail : GateStatus::inconclusive;
      failed_ = failed_ || confirmed;
    }
    return ok;
  }

  [[nodiscard]] bool all_decided() const {
    for (std::size_t i = 0; i < decided_.size(); ++i) {
      if (outcome_.metrics[i].metric.blocking && !decided_[i]) return false;
    }
    return true;
  }

  const TakePair& take_;
  PairedOutcome outcome_;
  std::size_t family_ = 0;
  std::vector<bool> decided_;
  bool failed_ = false;
};

}  // namespace

std::vector<double> log_ratios(const std::vector<double>& a, const std::vector<double>& b,
                               measure::Better better) {
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double rise = std::log(b[i]) - std::log(a[i]);
    ratios[i] = better == measure::Better::higher ? rise : -rise;
  }
  return ratios;
}

Result<PairedOutcome> run_pairs(const std::vector<PairedMetric>& metrics,
                                const PairedOptions& options, const TakePair& take) {
  SLUICE_CHECK(check_options(options));
  return Series(metrics, options, take).run();
}

}  // namespace sluice::gate
