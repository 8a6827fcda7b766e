// sluice/analysis/mixture/judge.cpp - which settings of a study are faster, and whether that is
// known.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/study.h"
#include "sluice/stats/distribution.h"
#include "sluice/stats/power.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace sluice::analysis {
namespace {

constexpr std::int64_t kMostRuns = 9'999;  // "more than this" is not worth a number

struct StudyPoint {
  std::size_t setting;
  int repeat;
  double log_rate;
};

/// log rate = setting + repeat + noise, by least squares (the two sets of means in turn until they
/// stand still), with one spread for all.
struct Fit {
  std::vector<double> effect;  // of each setting, at the average repeat
  std::vector<int> runs;
  double sd = 0;
  double degrees = 0;  // 0: no spread is known
};

Fit fit_of(const std::vector<StudyPoint>& points, std::size_t settings) {
  Fit fit;
  fit.effect.assign(settings, 0);
  fit.runs.assign(settings, 0);
  std::map<int, std::pair<double, int>> repeats;  // effect, runs
  for (const StudyPoint& point : points) {
    ++fit.runs[point.setting];
    ++repeats[point.repeat].second;
  }
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> sums(settings, 0.0);
    for (const StudyPoint& point : points)
      sums[point.setting] += point.log_rate - repeats[point.repeat].first;
    for (std::size_t i = 0; i < settings; ++i)
      if (fit.runs[i] > 0) fit.effect[i] = sums[i] / fit.runs[i];
    std::map<int, double> left;
    for (const StudyPoint& point : points)
      left[point.repeat] += point.log_rate - fit.effect[point.setting];
    double mean = 0;
    for (auto& repeat : repeats) {
      repeat.second.first = left[repeat.first] / repeat.second.second;
      mean += repeat.second.first / static_cast<double>(repeats.size());
    }
    for (auto& repeat : repeats)
      repeat.second.first -= mean;  // settings carry the level
  }
  double squares = 0;
  for (const StudyPoint& point : points) {
    const double off = point.log_rate - fit.effect[point.setting] - repeats[point.repeat].first;
    squares += off * off;
  }
  const auto measured = static_cast<double>(
      std::count_if(fit.runs.begin(), fit.runs.end(), [](int runs) { return runs > 0; }));
  fit.degrees = std::max(
      0.0, static_cast<double>(points.size()) - measured - static_cast<double>(repeats.size()) + 1);
  if (fit.degrees > 0) fit.sd = std::sqrt(squares / fit.degrees);
  return fit;
}

/// Half the width of an interval of confidence `confidence`; nothing without a spread.
std::optional<double> half_interval(const Fit& fit, double of_runs, double confidence) {
  if (fit.degrees <= 0) return std::nullopt;
  const auto t = stats::student_t_quantile(0.5 + confidence / 2, fit.degrees);
  if (!t) return std::nullopt;
  return *t * fit.sd * std::sqrt(of_runs);
}

std::int64_t runs_to_decide(const Fit& fit, double log_ratio, int have, double comparisons,
                            const StudyRule& rule) {
  if (fit.degrees <= 0) return std::max(1, 3 - have);  // 3 of each before anything can be said
  const double effect = std::max(std::fabs(log_ratio), std::log1p(rule.margin));
  const auto needed = stats::needed_per_side(
      fit.sd, effect, {.alpha = (1 - rule.confidence) / 2 / comparisons, .power = rule.power});
  if (!needed) return kMostRuns;
  return std::clamp<std::int64_t>(*needed - have, 1, kMostRuns);
}

class Judge {
 public:
  Judge(MixtureKnobs base, const StudyRule& rule) : base_(std::move(base)), rule_(rule) {}

  StudyVerdict judge(const std::vector<const MixtureStudyRun*>& runs) {
    count(runs);
    gather(runs);
    contrasts();
    out_.full_metadata = choose([&](const MixtureKnobs& knobs) {
      return knobs.metadata == "full" && knobs.samples_per_episode == base_.samples_per_episode;
    });
    out_.throughput = choose([](const MixtureKnobs&) { return true; });
    for (std::size_t i = 0; i < out_.settings.size(); ++i) {
      const StudySetting& one = out_.settings[i];
      if (!out_.sustained && one.knobs.metadata == "full" && one.knobs.steps >= kLongSteps)
        out_.sustained = i;
    }
    return std::move(out_);
  }

 private:
  void count(const std::vector<const MixtureStudyRun*>& runs) {
    out_.machine = machine_of(*runs.front());
    int most = 0;
    for (const MixtureStudyRun* run : runs)
      most = std::max(most, run->knobs.cpus);
    base_.cpus = std::min(base_.cpus, most);
    out_.base = base_;
    out_.runs = runs.size();
    std::map<MixtureKnobs, int> quiet;
    std::set<MixtureKnobs> measured;
    for (const MixtureStudyRun* run : runs) {
      if (!run->failure.empty()) {
        ++out_.failed;
        continue;
      }
      measured.insert(run->knobs);
      if (is_short(run->knobs)) ++out_.short_runs;
      if (is_disturbed(*run))
        ++out_.disturbed;
      else
        ++quiet[run->knobs];
    }
    out_.disturbed_left_out =
        out_.disturbed > 0 && std::all_of(measured.begin(), measured.end(), [&](const auto& one) {
          const auto found = quiet.find(one);
          return found != quiet.end() && found->second >= 2;
        });
  }

  void gather(const std::vector<const MixtureStudyRun*>& runs) {
    std::map<MixtureKnobs, std::size_t> place;
    std::vector<StudyPoint> points;
    std::vector<StudySetting> settings;
    for (const MixtureStudyRun* run : runs) {
      if (!run->failure.empty() || !(run->samples_per_s > 0)) continue;
      if (out_.disturbed_left_out && is_disturbed(*run)) continue;
      const auto [found, is_new] = place.try_emplace(run->knobs, settings.size());
      if (is_new) settings.push_back({.knobs = run->knobs});
      StudySetting& setting = settings[found->second];
      for (const std::string& label : run->labels)
        if (std::find(setting.labels.begin(), setting.labels.end(), label) == setting.labels.end())
          setting.labels.push_back(label);
      points.push_back({found->second, run->repeat, std::log(run->samples_per_s)});
    }
    fit_ = fit_of(points, settings.size());
    for (std::size_t i = 0; i < settings.size(); ++i) {
      StudySetting& setting = settings[i];
      setting.runs = fit_.runs[i];
      const double point = std::exp(fit_.effect[i]);
      setting.rate = {point, point, point, rule_.confidence};
      if (const auto half = half_interval(fit_, 1.0 / setting.runs, rule_.confidence)) {
        setting.rate.low = std::exp(fit_.effect[i] - *half);
        setting.rate.high = std::exp(fit_.effect[i] + *half);
        setting.has_interval = true;
      }
    }
    std::vector<std::size_t> order(settings.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return fit_.effect[a] > fit_.effect[b]; });
    Fit sorted = fit_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      out_.settings.push_back(std::move(settings[order[i]]));
      sorted.effect[i] = fit_.effect[order[i]];
      sorted.runs[i] = fit_.runs[order[i]];
    }
    fit_ = std::move(sorted);
    out_.degrees = fit_.degrees;
    if (fit_.degrees > 0) out_.spread = fit_.sd;
  }

  /// setting / reference at a confidence that holds for `comparisons` such at once.
  std::optional<stats::Estimate> ratio(std::size_t setting, std::size_t reference,
                                       double comparisons, double& log_ratio) const {
    log_ratio = fit_.effect[setting] - fit_.effect[reference];
    const auto half = half_interval(fit_, 1.0 / fit_.runs[setting] + 1.0 / fit_.runs[reference],
                                    1 - (1 - rule_.confidence) / comparisons);
    if (!half) return std::nullopt;
    return stats::Estimate{std::exp(log_ratio), std::exp(log_ratio - *half),
                           std::exp(log_ratio + *half), rule_.confidence};
  }

  void contrasts() {
    for (const MixtureKnob knob : kMixtureKnobs) {
      const std::size_t first = out_.contrasts.size();
      for (std::size_t i = 0; i < out_.settings.size(); ++i) {
        const MixtureKnobs wanted = with(out_.settings[i].knobs, knob, base_);
        for (std::size_t k = 0; k < out_.settings.size(); ++k)
          if (k != i && out_.settings[k].knobs == wanted)
            out_.contrasts.push_back({.knob = knob, .setting = i, .reference = k});
      }
      const auto comparisons = static_cast<double>(out_.contrasts.size() - first);
      for (std::size_t i = first; i < out_.contrasts.size(); ++i)
        decide(out_.contrasts[i], comparisons);
    }
  }

  void decide(StudyContrast& contrast, double comparisons) const {
    double log_ratio = 0;
    const auto found = ratio(contrast.setting, contrast.reference, comparisons, log_ratio);
    const double point = std::exp(log_ratio);
    contrast.ratio = found.value_or(stats::Estimate{point, point, point, rule_.confidence});
    contrast.has_interval = found.has_value();
    if (found) {
      if (found->low >= 1 - rule_.margin && found->high <= 1 + rule_.margin)
        contrast.outcome = StudyOutcome::same;
      else if (found->low > 1)
        contrast.outcome = StudyOutcome::faster;
      else if (found->high < 1)
        contrast.outcome = StudyOutcome::slower;
    }
    if (contrast.outcome == StudyOutcome::undecided)
      contrast.more_runs = runs_to_decide(
          fit_, log_ratio, std::min(fit_.runs[contrast.setting], fit_.runs[contrast.reference]),
          comparisons, rule_);
  }

  /// Of settings of one length: the length that most of those wanted have, the longer of equals.
  template <class Wanted>
  StudyChoice choose(Wanted wanted) const {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> lengths;
    for (const StudySetting& one : out_.settings)
      if (wanted(one.knobs)) ++lengths[{one.knobs.steps, one.knobs.warmup}];
    StudyChoice choice;
    if (lengths.empty()) return choice;
    auto most = lengths.begin();
    for (auto at = lengths.begin(); at != lengths.end(); ++at)
      if (at->second >= most->second) most = at;
    std::vector<std::size_t> pool;  // fastest first, as the settings are
    for (std::size_t i = 0; i < out_.settings.size(); ++i) {
      const MixtureKnobs& knobs = out_.settings[i].knobs;
      if (wanted(knobs) && std::pair(knobs.steps, knobs.warmup) == most->first) pool.push_back(i);
    }
    choice.considered = pool.size();
    const auto comparisons = static_cast<double>(std::max<std::size_t>(pool.size(), 2) - 1);
    choice.settings.push_back(pool.front());
    for (std::size_t i = 1; i < pool.size(); ++i) {
      double log_ratio = 0;
      const auto found = ratio(pool[i], pool.front(), comparisons, log_ratio);
      if (found && found->high < 1) continue;
      choice.settings.push_back(pool[i]);
      choice.more_runs = std::max(
          choice.more_runs,
          runs_to_decide(fit_, log_ratio, std::min(fit_.runs[pool[i]], fit_.runs[pool.front()]),
                         comparisons, rule_));
    }
    choice.decided = choice.settings.size() == 1 && pool.size() > 1;
    return choice;
  }

  MixtureKnobs base_;
  const StudyRule& rule_;
  StudyVerdict out_;
  Fit fit_;
};

}  // namespace

std::vector<StudyVerdict> judge_study(const std::vector<MixtureStudyRun>& runs,
                                      const MixtureKnobs& base, const StudyRule& rule) {
  std::vector<std::string> machines;
  for (const MixtureStudyRun& run : runs)
    if (std::find(machines.begin(), machines.end(), machine_of(run)) == machines.end())
      machines.push_back(machine_of(run));
  std::vector<StudyVerdict> verdicts;
  for (const std::string& machine : machines) {
    std::vector<const MixtureStudyRun*> own;
    for (const MixtureStudyRun& run : runs)
      if (machine_of(run) == machine) own.push_back(&run);
    verdicts.push_back(Judge(base, rule).judge(own));
  }
  return verdicts;
}

}  // namespace sluice::analysis
