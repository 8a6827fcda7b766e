// sluice/stats/change_points.cpp - energy distance of every split in O(n²), permutations, pruning.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/change_points.h"

#include "sluice/core/rng.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice::stats {
namespace {

constexpr std::uint32_t kStage = 0x6564;  // keeps these draws apart from others of the seed

double distance(double a, double b) {
  return std::abs(a - b);
}

/// Whether at most `split_p` of the permutations (and the series itself) split at least as well.
/// Ends with the permutation that settles it.
bool is_split(Sample values, double q, const ChangePointOptions& options, std::size_t begin) {
  std::vector<double> shuffled(values.begin(), values.end());
  int as_good = 1;
  for (int i = 0; i < options.permutations; ++i) {
    Rng rng(RngKey{.seed = options.seed,
                   .epoch = values.size(),
                   .index = begin,
                   .repeat = static_cast<std::uint32_t>(i),
                   .stage = kStage});
    rng.shuffle(std::span(shuffled));
    if (best_energy_split(shuffled, options.least_length).q >= q) ++as_good;
    if (static_cast<double>(as_good) / (options.permutations + 1) > options.split_p) return false;
  }
  return true;
}

/// Splits values[begin, end) for as long as the relaxed test says so.
void split(std::set<std::size_t>& found, Sample values, std::size_t begin, std::size_t end,
           const ChangePointOptions& options) {
  const Sample part = values.subspan(begin, end - begin);
  const EnergySplit best = best_energy_split(part, options.least_length);
  if (best.q <= 0 || !is_split(part, best.q, options, begin)) return;
  found.insert(begin + best.index);
  split(found, values, begin, begin + best.index, options);
  split(found, values, begin + best.index, end, options);
}

ChangePoint describe(Sample values, std::size_t begin, std::size_t index, std::size_t end) {
  const Sample before = values.subspan(begin, index - begin);
  const Sample after = values.subspan(index, end - index);
  ChangePoint point{index, *mean(before), *mean(after), 1};
  if (const auto test = welch_t(after, before)) point.p = test->p;
  return point;
}

std::vector<ChangePoint> describe_all(Sample values, const std::vector<std::size_t>& at) {
  std::vector<ChangePoint> points;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : at[i - 1];
    const std::size_t end = i + 1 < at.size() ? at[i + 1] : values.size();
    points.push_back(describe(values, begin, at[i], end));
  }
  return points;
}

}  // namespace

EnergySplit best_energy_split(Sample values, std::size_t least_length) {
  const std::size_t n = values.size();
  const std::size_t least = std::max<std::size_t>(least_length, 2);
  EnergySplit best;
  if (n < 2 * least) return best;
  double within_left = 0;  // of pairs left of the split
  double between = 0;
  double within_right = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      within_right += distance(values[i], values[j]);
  for (std::size_t k = 0; k + 1 < n; ++k) {  // values[k] moves from right to left
    double to_left = 0;
    double to_right = 0;
    for (std::size_t i = 0; i < k; ++i)
      to_left += distance(values[i], values[k]);
    for (std::size_t j = k + 1; j < n; ++j)
      to_right += distance(values[k], values[j]);
    within_left += to_left;
    within_right -= to_right;
    between += to_right - to_left;
    const std::size_t left = k + 1;
    const std::size_t right = n - left;
    if (left < least || right < least) continue;
    const auto a = static_cast<double>(left);
    const auto b = static_cast<double>(right);
    const double energy =
        2 * between / (a * b) - 2 * within_left / (a * (a - 1)) - 2 * within_right / (b * (b - 1));
    const double q = energy * a * b / (a + b);
    if (q > best.q) best = {left, q};
  }
  return best;
}

Result<std::vector<ChangePoint>> change_points(Sample values, const ChangePointOptions& options) {
  for (const double value : values)
    if (!std::isfinite(value))
      return Error{Errc::invalid_input,
                   fmt::format("change points: {} is not a finite number", value)};
  if (options.window < 2 * std::max<std::size_t>(options.least_length, 2) ||
      options.permutations < 1)
    return Error{Errc::invalid_input,
                 "change points: a window of two stretches, and a permutation, "
                 "are the least"};
  std::set<std::size_t> found;
  const std::size_t step = std::max<std::size_t>(options.window / 2, 1);
  for (std::size_t begin = 0; begin < values.size(); begin += step) {
    const std::size_t end = std::min(begin + options.window, values.size());
    split(found, values, begin, end, options);
    if (end == values.size()) break;
  }
  std::vector<std::size_t> at(found.begin(), found.end());
  std::vector<ChangePoint> points = describe_all(values, at);
  while (!points.empty()) {  // the least certain goes first: its neighbours gain from it
    const auto weakest =
        std::max_element(points.begin(), points.end(),
                         [](const ChangePoint& a, const ChangePoint& b) { return a.p < b.p; });
    if (weakest->p <= options.keep_p) break;
    at.erase(at.begin() + (weakest - points.begin()));
    points = describe_all(values, at);
  }
  return points;
}

}  // namespace sluice::stats
