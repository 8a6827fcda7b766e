// sluice/measure/tune_ranking.cpp - settings and blocks by least squares, and what is read off
// them.
// SPDX-License-Identifier: Apache-2.0
//
// Blocks are incomplete: a search leaves settings and finds others. Within a block only differences
// count, so the equations are those of a graph whose edges are blocks (its Laplacian), grounded at
// one setting.
#include "sluice/measure/tune_ranking.h"

#include "sluice/stats/distribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace sluice::measure {
namespace {

using Matrix = std::vector<std::vector<double>>;
constexpr double kFirstLook = 3;      // blocks, where nothing is known of the noise
constexpr double kFewestDegrees = 8;  // of the interval that is promised for later

/// A setting and the logarithm of its rate.
struct LogRate {
  std::size_t setting = 0;
  double value = 0;
};

/// Gauss-Jordan with pivots; false: singular.
bool invert(Matrix& a, Matrix& inverse) {
  const std::size_t n = a.size();
  inverse.assign(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i)
    inverse[i][i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    if (std::abs(a[pivot][column]) < 1e-9) return false;
    std::swap(a[pivot], a[column]);
    std::swap(inverse[pivot], inverse[column]);
    const double by = a[column][column];
    for (std::size_t k = 0; k < n; ++k) {
      a[column][k] /= by;
      inverse[column][k] /= by;
    }
    for (std::size_t row = 0; row < n; ++row) {
      const double factor = a[row][column];
      if (row == column || factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        a[row][k] -= factor * a[column][k];
        inverse[row][k] -= factor * inverse[column][k];
      }
    }
  }
  return true;
}

/// Settings that blocks join, around the one with most measurements.
std::set<Setting> joined(const std::map<int, std::vector<const TuneSample*>>& blocks) {
  std::map<Setting, int> counts;
  for (const auto& [block, samples] : blocks)
    for (const TuneSample* one : samples)
      ++counts[one->setting];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::set<Setting> found{most->first};
  for (std::size_t before = 0; before != found.size();) {
    before = found.size();
    for (const auto& [block, samples] : blocks) {
      const bool touches = std::any_of(samples.begin(), samples.end(), [&](const TuneSample* one) {
        return found.count(one->setting) != 0;
      });
      if (!touches) continue;
      for (const TuneSample* one : samples)
        found.insert(one->setting);
    }
  }
  return found;
}

class SettingFit {
 public:
  explicit SettingFit(const std::vector<TuneSample>& samples) {
    std::map<int, std::vector<const TuneSample*>> blocks;
    for (const TuneSample& one : samples)
      blocks[one.block].push_back(&one);
    const std::set<Setting> kept = joined(blocks);
    settings_.assign(kept.begin(), kept.end());
    counts_.assign(settings_.size(), 0);
    for (const auto& [block, list] : blocks) {
      std::vector<LogRate> rates;
      for (const TuneSample* one : list) {
        const auto at = std::lower_bound(settings_.begin(), settings_.end(), one->setting);
        if (at == settings_.end() || *at != one->setting) continue;
        rates.push_back({static_cast<std::size_t>(at - settings_.begin()), std::log(one->rate)});
        ++counts_[rates.back().setting];
      }
      if (!rates.empty()) blocks_.push_back(std::move(rates));
    }
    solve();
  }

  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }
  [[nodiscard]] int count(std::size_t i) const { return counts_[i]; }
  [[nodiscard]] double effect(std::size_t i) const { return effects_[i]; }
  [[nodiscard]] double rate(std::size_t i) const { return std::exp(level_ + effects_[i]); }
  [[nodiscard]] double degrees() const { return degrees_; }
  [[nodiscard]] std::optional<double> noise() const { return noise_; }
  /// Standard error of the difference of two, for a noise of 1.
  [[nodiscard]] double spread(std::size_t a, std::size_t b) const {
    return std::sqrt(std::max(0.0, inverse_[a][a] + inverse_[b][b] - 2 * inverse_[a][b]));
  }

 private:
  void solve() {
    const std::size_t n = settings_.size();
    Matrix laplacian(n, std::vector<double>(n, 0));
    std::vector<double> right(n, 0);
    for (const std::vector<LogRate>& block : blocks_) {
      const auto size = static_cast<double>(block.size());
      double mean = 0;
      for (const LogRate& one : block)
        mean += one.value / size;
      for (const LogRate& one : block) {
        laplacian[one.setting][one.setting] += 1;
        right[one.setting] += one.value - mean;
        for (const LogRate& other : block)
          laplacian[one.setting][other.setting] -= 1 / size;
      }
    }
    Matrix reduced(n - 1), small;  // the last is the ground
    for (std::size_t i = 0; i + 1 < n; ++i)
      reduced[i].assign(laplacian[i].begin(), laplacian[i].end() - 1);
    effects_.assign(n, 0);
    inverse_.assign(n, std::vector<double>(n, 0));
    if (invert(reduced, small)) {
      for (std::size_t i = 0; i + 1 < n; ++i) {
        for (std::size_t k = 0; k + 1 < n; ++k) {
          inverse_[i][k] = small[i][k];
          effects_[i] += small[i][k] * right[k];
        }
      }
    }
    remainder();
  }

  /// Level and noise.
  void remainder() {
    double squares = 0, all = 0, sum = 0;
    degrees_ = 1 - static_cast<double>(settings_.size());
    for (const std::vector<LogRate>& block : blocks_) {
      const auto size = static_cast<double>(block.size());
      double mean = 0;
      for (const LogRate& one : block)
        mean += (one.value - effects_[one.setting]) / size;
      for (const LogRate& one : block) {
        const double off = one.value - effects_[one.setting] - mean;
        squares += off * off;
      }
      sum += mean * size;
      all += size;
      degrees_ += size - 1;
    }
    level_ = sum / all;
    if (degrees_ > 0) noise_ = std::sqrt(squares / degrees_);
  }

  std::vector<Setting> settings_;  // ascending: the cheapest first
  std::vector<int> counts_;
  std::vector<std::vector<LogRate>> blocks_;
  std::vector<double> effects_;  // logarithms, to the ground
  Matrix inverse_;
  double level_ = 0, degrees_ = 0;
  std::optional<double> noise_;
};

double share_lost(double log_gain) {
  return log_gain > 0 ? -std::expm1(-log_gain) : 0;
}

class Ranker {
 public:
  Ranker(const std::vector<TuneSample>& samples, const RankingOptions& options)
      : fit_(samples), options_(options) {
    if (!fit_.noise()) return;
    quantile_ = quantile(fit_.degrees());
    later_ = quantile(std::max(fit_.degrees(), kFewestDegrees));
  }

  TuneRanking run() {
    sort();
    choose();
    weigh();
    refer();
    return std::move(ranking_);
  }

 private:
  [[nodiscard]] double quantile(double degrees) const {
    const auto t = stats::student_t_quantile(0.5 + options_.confidence / 2, degrees);
    return t ? *t : INFINITY;
  }

  /// How much faster `a` is than `b`: a logarithm.
  [[nodiscard]] stats::Estimate faster(std::size_t a, std::size_t b) const {
    const double point = fit_.effect(a) - fit_.effect(b);
    const double half = quantile_ * fit_.noise().value_or(0) * fit_.spread(a, b);
    return {point, point - half, point + half, options_.confidence};
  }

  [[nodiscard]] static stats::Estimate ratio_of(const stats::Estimate& log) {
    return {std::exp(log.point), std::exp(log.low), std::exp(log.high), log.confidence};
  }

  void sort() {
    for (std::size_t i = 0; i < fit_.settings().size(); ++i)
      order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return fit_.effect(a) > fit_.effect(b); });
    for (const std::size_t i : order_) {
      TuneRanked& one = ranking_.order.emplace_back();
      one.setting = fit_.settings()[i];
      one.n = fit_.count(i);
      one.rate = fit_.rate(i);
      if (fit_.noise() && i != order_.front()) one.ratio = ratio_of(faster(i, order_.front()));
    }
    ranking_.noise = fit_.noise();
  }

  /// Settings stand cheapest first in the fit.
  void choose() {
    const double limit = std::log1p(-options_.worth);
    const std::size_t first = order_.front();
    chosen_ = first;
    for (std::size_t i = 0; fit_.noise() && i < first; ++i) {
      const stats::Estimate log = faster(i, first);
      if (log.low >= limit) {
        chosen_ = i;
        ranking_.choice = TuneChoice::cheapest;
        break;
      }
      if (log.high >= limit) ranking_.maybe_cheaper.push_back(fit_.settings()[i]);
    }
    ranking_.recommended = fit_.settings()[chosen_];
  }

  /// What is left open, and what it takes to close it.
  void weigh() {
    if (!fit_.noise()) {
      ranking_.more_measurements = kFirstLook * static_cast<double>(order_.size());
      return;
    }
    if (order_.size() < 2) return;
    stats::Estimate most{0, 0, 0, options_.confidence};
    const double limit = std::log1p(options_.worth);
    std::vector<std::pair<double, std::size_t>> open;  // by how much it may be faster
    double blocks = 0;
    for (const std::size_t i : order_) {
      if (i == chosen_) continue;
      const stats::Estimate log = faster(i, chosen_);
      most.point = std::max(most.point, log.point);
      most.low = std::max(most.low, log.low);
      most.high = std::max(most.high, log.high);
      if (log.high <= limit) continue;
      open.emplace_back(log.high, i);
      blocks = std::max(blocks, blocks_for(i, std::max(log.point, limit - log.point)));
    }
    ranking_.loss = stats::Estimate{share_lost(most.point), share_lost(most.low),
                                    share_lost(most.high), options_.confidence};
    std::sort(open.begin(), open.end(), std::greater<>());
    for (const auto& [high, i] : open)
      ranking_.open.push_back(fit_.settings()[i]);
    if (!open.empty()) ranking_.more_measurements = blocks * static_cast<double>(open.size() + 1);
  }

  /// Pairs with the chosen one until the interval is no wider than `margin` to one side, beyond
  /// those that it is worth now.
  [[nodiscard]] double blocks_for(std::size_t i, double margin) const {
    const double spread = fit_.spread(i, chosen_);
    const double now = spread > 0 ? 2 / (spread * spread) : 0;
    const double wanted = 2 * std::pow(later_ * *fit_.noise() / margin, 2);
    return std::max(1.0, std::ceil(wanted - now));
  }

  void refer() {
    if (!options_.reference || !fit_.noise()) return;
    const auto& settings = fit_.settings();
    const auto at = std::find(settings.begin(), settings.end(), *options_.reference);
    const auto index = static_cast<std::size_t>(at - settings.begin());
    if (at == settings.end() || index == chosen_) return;
    ranking_.gain = ratio_of(faster(chosen_, index));
  }

  SettingFit fit_;
  const RankingOptions& options_;
  std::vector<std::size_t> order_;  // fastest first
  std::size_t chosen_ = 0;
  double quantile_ = 0, later_ = 0;
  TuneRanking ranking_;
};

}  // namespace

const char* to_string(TuneChoice choice) {
  return choice == TuneChoice::first ? "first" : "cheapest";
}

TuneRanking rank_settings(const std::vector<TuneSample>& samples, const RankingOptions& options) {
  if (samples.empty()) return {};
  return Ranker(samples, options).run();
}

}  // namespace sluice::measure
