// sluice/measure/tune.cpp - the search: rounds of paired comparisons with the incumbent.
// SPDX-License-Identifier: Apache-2.0
//
// A block measures the incumbent and every candidate once, in random order: what drifts drifts for
// all. Candidates leave as soon as their interval says so; nobody is measured longer than needed.
#include "sluice/measure/tune.h"

#include "sluice/core/rng.h"
#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace sluice::measure {
namespace {

enum class Purpose {
  climb,  // is it faster?
  save,   // is it as good, being cheaper?
};

Status check(const TuneOptions& options) {
  if (options.axes.empty()) return Error{Errc::usage, "tune: no axes, at least one is needed"};
  if (options.start.size() != options.axes.size())
    return Error{Errc::usage, fmt::format("tune: {} start values for {} axes", options.start.size(),
                                          options.axes.size())};
  for (std::size_t a = 0; a < options.axes.size(); ++a) {
    const std::vector<std::int64_t>& values = options.axes[a].values;
    if (values.empty() ||
        std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) != values.end())
      return Error{Errc::usage,
                   fmt::format("tune: the values of {} must ascend", options.axes[a].name)};
    if (std::find(values.begin(), values.end(), options.start[a]) == values.end())
      return Error{Errc::usage, fmt::format("tune: start {}={} is none of its values",
                                            options.axes[a].name, options.start[a])};
  }
  if (options.looks.empty() || options.looks.front() < 2 ||
      std::adjacent_find(options.looks.begin(), options.looks.end(), std::greater_equal<>()) !=
          options.looks.end())
    return Error{Errc::usage, "tune: looks must ascend from at least 2"};
  if (!(options.worth > 0 && options.worth < 1) || !(options.budget_s > 0))
    return Error{Errc::usage, fmt::format("tune: worth {} and budget {} s: a share below 1 and a "
                                          "time above 0 are needed",
                                          options.worth, options.budget_s)};
  return stats::require_fraction(options.confidence, "confidence");
}

class Search {
 public:
  Search(const TuneOptions& options, const TuneMeasure& measure, Clock& clock)
      : options_(options), measure_(measure), clock_(clock), start_ns_(clock.now_ns()) {}

  Result<TuneResult> run() {
    SLUICE_CHECK(begin());
    limit_s_ = kClimbShare * options_.budget_s;
    climb();
    result_.complete = !spent_;
    spent_ = false;
    limit_s_ = options_.budget_s;
    if (result_.complete) {  // else there are gains to look for before savings
      save();
      result_.complete = retry_cheaper();
    }
    refine();
    result_.complete = result_.complete && !over_;
    result_.best = result_.ranking.order.front().setting;
    result_.recommended = result_.ranking.recommended;
    result_.settled = result_.complete && result_.ranking.noise && result_.ranking.open.empty();
    result_.elapsed_s = elapsed_s();
    return std::move(result_);
  }

 private:
  using Pair = std::pair<Setting, Setting>;

  [[nodiscard]] double elapsed_s() const {
    return static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9;
  }

  /// The start, or the cheapest setting where that one fails.
  Status begin() {
    result_.best = options_.start;
    if (rate_of(options_.start)) return ok;
    for (std::size_t a = 0; a < options_.axes.size(); ++a)
      result_.best[a] = options_.axes[a].values.front();
    if (!over_ && result_.best != options_.start && rate_of(result_.best)) {
      record_failure(options_.start, result_.best);
      return ok;
    }
    if (over_) return Error{code_, reason_};
    return Error{Errc::measurement, failed_[result_.best]};
  }

  /// Absent: it failed, or the search is over.
  std::optional<double> rate_of(const Setting& setting) {
    auto rate = measure_(setting, result_.blocks);
    ++result_.measurements;
    if (rate && *rate > 0 && std::isfinite(*rate)) {
      rates_of(setting).push_back(*rate);
      samples_.push_back({setting, result_.blocks, *rate});
      return *rate;
    }
    if (rate) {
      failed_[setting] = fmt::format("its rate is {}", *rate);
    } else if (rate.error().code == Errc::interrupted || rate.error().code == Errc::usage) {
      over_ = true;
      result_.interrupted = true;
      code_ = rate.error().code;
      reason_ = rate.error().message;
    } else {
      failed_[setting] = rate.error().message;
    }
    return std::nullopt;
  }

  std::vector<double>& rates_of(const Setting& setting) {
    for (TuneRate& one : result_.rates)
      if (one.setting == setting) return one.rates;
    TuneRate& added = result_.rates.emplace_back();
    added.setting = setting;
    return added.rates;
  }

  void record_failure(const Setting& setting, const Setting& against) {
    TuneComparison& one = comparison(setting, against);
    one.outcome = TuneOutcome::failed;
    one.reason = failed_[setting];
  }

  /// The comparison of a pair, begun when there is none; pairs that were measured before count.
  TuneComparison& comparison(const Setting& setting, const Setting& against) {
    const auto [found, added] = index_.try_emplace(Pair(setting, against), result_.evidence.size());
    if (added) {
      TuneComparison& one = result_.evidence.emplace_back();
      one.setting = setting;
      one.against = against;
    }
    return result_.evidence[found->second];
  }

  /// One step, or two, to either side on every axis; without those known not to be better.
  [[nodiscard]] std::vector<Setting> neighbours(const Setting& of, std::size_t steps) const {
    std::vector<Setting> all;
    for (std::size_t a = 0; a < options_.axes.size(); ++a) {
      const std::vector<std::int64_t>& values = options_.axes[a].values;
      const auto at =
          static_cast<std::size_t>(std::find(values.begin(), values.end(), of[a]) - values.begin());
      Setting next = of;
      if (at + steps < values.size()) {
        next[a] = values[at + steps];
        all.push_back(next);
      }
      if (at >= steps) {
        next[a] = values[at - steps];
        all.push_back(next);
      }
    }
    std::erase_if(all, [this](const Setting& one) {
      return ruled_out_.count(one) != 0 || failed_.count(one) != 0;
    });
    return all;
  }

  /// Where a dearer step failed, as with too little memory, the same step may do from a setting
  /// that is cheaper on another axis. False: the budget ended it.
  bool retry_cheaper() {
    while (!failed_.empty() && !over_ && result_.recommended != result_.best) {
      const Setting before = result_.best;
      ruled_out_.insert(before);
      result_.best = result_.recommended;
      climb();
      if (result_.best == result_.recommended) {
        result_.best = before;
        return !spent_;
      }
      save();
    }
    return !spent_;
  }

  void climb() {
    for (bool moved = true; moved && !over_;) {
      moved = false;
      for (const std::size_t steps : {std::size_t{1}, std::size_t{2}}) {
        const Setting incumbent = result_.best;
        const auto better = round(incumbent, neighbours(incumbent, steps), Purpose::climb);
        if (better) {
          ruled_out_.insert(incumbent);
          result_.best = *better;
        }
        if (spent_ || over_) return;
        if (!better) continue;
        moved = true;
        break;
      }
    }
  }

  /// Down every axis, the dearest first, as far as it is as good; each step beside the best, so
  /// that losses do not add up.
  void save() {
    const Setting best = result_.best;
    result_.recommended = best;
    for (std::size_t a = 0; a < options_.axes.size(); ++a) {
      const std::vector<std::int64_t>& values = options_.axes[a].values;
      while (true) {
        Setting cheaper = result_.recommended;
        const auto at = std::find(values.begin(), values.end(), cheaper[a]);
        if (at == values.begin()) break;
        cheaper[a] = *(at - 1);
        if (failed_.count(cheaper) != 0 || !round(best, {cheaper}, Purpose::save)) break;
        result_.recommended = cheaper;
      }
    }
  }

  /// Blocks of the incumbent and the candidates until all are judged. Climbing ends with the first
  /// look at which one is better; the fastest of those is the answer.
  std::optional<Setting> round(const Setting& incumbent, const std::vector<Setting>& candidates,
                               Purpose purpose) {
    std::vector<Setting> open = candidates;
    std::optional<Setting> chosen = judge(open, incumbent, purpose);
    while (!open.empty() && !chosen) {
      const bool more = block(open, incumbent);
      chosen = judge(open, incumbent, purpose);  // with the budget spent, a last look
      if (!more) break;
    }
    return chosen;
  }

  /// As many as the time left is enough for, judged by those so far. The first block may take what
  /// there is.
  [[nodiscard]] std::size_t measurements_left() const {
    const double limit_s = result_.blocks == 0 ? options_.budget_s : limit_s_;
    const double each_s = elapsed_s() / result_.measurements;
    if (each_s <= 0) return std::numeric_limits<std::size_t>::max();
    return static_cast<std::size_t>(std::max(0.0, limit_s - elapsed_s()) / each_s);
  }

  /// The reference is no candidate: some blocks are enough to say how far it is off.
  [[nodiscard]] bool wants_reference(const std::vector<Setting>& order) const {
    if (!options_.reference || failed_.count(*options_.reference) != 0) return false;
    if (std::find(order.begin(), order.end(), *options_.reference) != order.end()) return false;
    return std::count_if(samples_.begin(), samples_.end(), [this](const TuneSample& one) {
             return one.setting == *options_.reference;
           }) < kReferenceBlocks;
  }

  /// Everything that was measured and did not fail.
  void rank() {
    std::vector<TuneSample> sound = samples_;
    std::erase_if(sound, [this](const TuneSample& one) { return failed_.count(one.setting) != 0; });
    result_.ranking = rank_settings(sound, {.worth = options_.worth,
                                            .confidence = options_.confidence,
                                            .reference = options_.reference});
  }

  /// More blocks of what the ranking leaves open, the most promising first: settings that may be
  /// faster than the recommended one, then cheaper ones that may be as good as the first.
  void refine() {
    for (int more = 0; more <= options_.looks.back(); ++more) {
      rank();
      std::vector<Setting> open = result_.ranking.open;
      const bool faster = !open.empty() || !result_.ranking.noise;
      const Setting against =
          faster ? result_.ranking.recommended : result_.ranking.order.front().setting;
      if (!faster) open = result_.ranking.maybe_cheaper;
      if (!result_.ranking.noise)
        for (const TuneRanked& one : result_.ranking.order)
          if (one.setting != against) open.push_back(one.setting);
      if (open.size() > kOpenAtOnce) open.resize(kOpenAtOnce);
      if (open.empty() || more == options_.looks.back()) return;
      if (!block(open, against)) break;
      judge(open, against, faster ? Purpose::climb : Purpose::save);
    }
    rank();
  }

  /// Measures all once; false when that cannot be done any more.
  bool block(std::vector<Setting>& open, const Setting& incumbent) {
    std::vector<Setting> order{incumbent};
    order.insert(order.end(), open.begin(), open.end());
    if (wants_reference(order)) order.insert(order.begin() + 1, *options_.reference);
    const std::size_t fitting = measurements_left();
    spent_ = fitting < 2;
    if (spent_ || over_) return false;
    if (order.size() > fitting) order.resize(fitting);  // a part of them is better than none
    ++result_.blocks;
    Rng rng({.seed = options_.seed, .index = static_cast<std::uint64_t>(result_.blocks)});
    rng.shuffle(std::span<Setting>(order));
    std::map<Setting, double> rates;
    for (const Setting& setting : order) {
      if (const auto rate = rate_of(setting)) rates[setting] = *rate;
      if (over_) return false;
    }
    const auto base = rates.find(incumbent);
    for (const Setting& setting : open) {
      if (failed_.count(setting) != 0) record_failure(setting, incumbent);
      const auto rate = rates.find(setting);
      if (base != rates.end() && rate != rates.end())
        comparison(setting, incumbent).log_ratios.push_back(std::log(rate->second / base->second));
    }
    if (failed_.erase(incumbent) != 0 && ++incumbent_failures_ > kMaxIncumbentFailures)
      over_ = true;  // it measured well before: a hiccup, but not again and again
    std::erase_if(open, [this](const Setting& one) { return failed_.count(one) != 0; });
    return !over_;
  }

  /// Takes out of `open` what is judged.
  std::optional<Setting> judge(std::vector<Setting>& open, const Setting& incumbent,
                               Purpose purpose) {
    std::optional<Setting> chosen;
    double fastest = 0;
    std::erase_if(open, [&](const Setting& setting) {
      if (index_.count(Pair(setting, incumbent)) == 0) return false;
      TuneComparison& one = comparison(setting, incumbent);
      const bool judged = settle(one, purpose);
      if (one.outcome == TuneOutcome::worse || one.outcome == TuneOutcome::no_gain)
        ruled_out_.insert(setting);
      const bool good = one.outcome == TuneOutcome::better || one.outcome == TuneOutcome::as_good;
      if (judged && good && one.ratio.point > fastest) {
        fastest = one.ratio.point;
        chosen = setting;
      }
      return judged;
    });
    return chosen;
  }

  /// True when nothing more is to be measured for it.
  bool settle(TuneComparison& one, Purpose purpose) {
    const auto pairs = static_cast<int>(one.log_ratios.size());
    const std::vector<int>& looks = options_.looks;
    if (pairs < 2) return false;
    const auto test = stats::one_sample_t(one.log_ratios, {.confidence = options_.confidence});
    if (!test) return false;
    const double low = test->interval.low, high = test->interval.high;
    one.ratio = {std::exp(test->difference), std::exp(low), std::exp(high), options_.confidence};
    one.standard_error = test->standard_error;
    one.outcome = TuneOutcome::undecided;
    // Between looks nothing is decided: every further question may be answered wrongly by chance.
    if (!spent_ && pairs < looks.back() &&
        std::find(looks.begin(), looks.end(), pairs) == looks.end())
      return false;
    if (purpose == Purpose::climb) {
      if (low > 0)
        one.outcome = TuneOutcome::better;
      else if (high < 0)
        one.outcome = TuneOutcome::worse;
      else if (high < std::log1p(options_.worth))
        one.outcome = TuneOutcome::no_gain;
    } else {
      if (low > std::log1p(-options_.worth))
        one.outcome = TuneOutcome::as_good;
      else if (high < std::log1p(-options_.worth))
        one.outcome = TuneOutcome::worse;
    }
    const bool last = pairs >= looks.back();
    return last || one.outcome != TuneOutcome::undecided;
  }

  static constexpr int kMaxIncumbentFailures = 3;
  static constexpr double kClimbShare = 0.7;  // of the budget; the rest is for cheaper settings
  static constexpr int kReferenceBlocks = 8;
  static constexpr std::size_t kOpenAtOnce = 3;

  const TuneOptions& options_;
  const TuneMeasure& measure_;
  Clock& clock_;
  std::int64_t start_ns_;
  TuneResult result_;
  std::vector<TuneSample> samples_;
  std::map<Pair, std::size_t> index_;  // of the evidence
  std::map<Setting, std::string> failed_;
  std::set<Setting> ruled_out_;  // not faster than what was best when they were compared
  double limit_s_ = 0;           // when the current part of the search ends
  int incumbent_failures_ = 0;
  bool over_ = false;  // interrupted
  bool spent_ = false;
  Errc code_ = Errc::measurement;
  std::string reason_;
};

}  // namespace

TuneAxis doubling_axis(std::string name, std::int64_t least, std::int64_t most) {
  TuneAxis axis{std::move(name), {}};
  if (least == 0) axis.values.push_back(0);
  for (std::int64_t value = 1; value < most; value *= 2)
    if (value >= least) axis.values.push_back(value);
  if (axis.values.empty() || axis.values.back() < most) axis.values.push_back(most);
  return axis;
}

const char* to_string(TuneOutcome outcome) {
  switch (outcome) {
    case TuneOutcome::better:
      return "better";
    case TuneOutcome::worse:
      return "worse";
    case TuneOutcome::no_gain:
      return "no gain";
    case TuneOutcome::as_good:
      return "as good";
    case TuneOutcome::undecided:
      return "undecided";
    case TuneOutcome::failed:
      return "failed";
  }
  return "";
}

Result<TuneResult> tune(const TuneOptions& options, const TuneMeasure& measure, Clock& clock) {
  SLUICE_CHECK(check(options));
  return Search(options, measure, clock).run();
}

}  // namespace sluice::measure
