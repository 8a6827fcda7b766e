// sluice/stats/series.cpp - autocorrelation, effective sample size and MSER-5.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/series.h"

#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice::stats {
namespace {

constexpr std::size_t kBatch = 5;

// Deviations from the mean, and the sum of their squares.
struct Centred {
  std::vector<double> deviations;
  double squares = 0;

  [[nodiscard]] double correlation(std::size_t lag) const {
    double sum = 0;
    for (std::size_t i = lag; i < deviations.size(); ++i)
      sum += deviations[i] * deviations[i - lag];
    return sum / squares;
  }
};

Result<Centred> centred(Sample values, std::size_t minimum, const char* what) {
  SLUICE_CHECK(require_sample(values, minimum, what));
  SLUICE_TRY(const double centre, mean(values));
  Centred out;
  out.deviations.reserve(values.size());
  for (const double value : values) {
    out.deviations.push_back(value - centre);
    out.squares += out.deviations.back() * out.deviations.back();
  }
  SLUICE_CHECK(require_finite(out.squares, what));
  if (out.squares <= 0) {
    return Error{
        Errc::invalid_input,
        fmt::format("{}: all {} values are equal, some spread is needed", what, values.size())};
  }
  return out;
}

}  // namespace

Result<double> autocorrelation(Sample values, std::size_t lag) {
  SLUICE_TRY(const Centred series, centred(values, 2, "autocorrelation"));
  if (lag >= values.size()) {
    return Error{
        Errc::invalid_input,
        fmt::format("autocorrelation: lag {} asked for, below {} accepted", lag, values.size())};
  }
  return series.correlation(lag);
}

Result<double> effective_sample_size(Sample values) {
  SLUICE_TRY(const Centred series, centred(values, 4, "effective sample size"));
  double sum = 0;  // of all lags from 0 on
  for (std::size_t lag = 0; lag + 1 < values.size(); lag += 2) {
    const double pair = series.correlation(lag) + series.correlation(lag + 1);
    if (pair <= 0) break;
    sum += pair;
  }
  const auto n = static_cast<double>(values.size());
  const double time = 2 * sum - 1;  // 1 + 2 (sum - 1): lag 0 counts once
  return std::clamp(time > 0 ? n / time : n, 1.0, n);
}

Result<WarmUp> mser5(Sample values) {
  SLUICE_CHECK(require_sample(values, 2 * kBatch, "MSER-5"));
  std::vector<double> batches;
  for (std::size_t i = 0; i + kBatch <= values.size(); i += kBatch) {
    SLUICE_TRY(const double batch, mean(values.subspan(i, kBatch)));
    batches.push_back(batch);
  }
  // From the end, so that mean and squares of each remainder grow by one batch (Welford's update).
  double centre = 0;
  double squares = 0;
  double best = 0;
  std::size_t cut = batches.size();
  // Two or three batches can agree by chance and would win (Hoad, Robinson and Davies 2010 leave
  // out the last five).
  const std::size_t shortest = std::clamp<std::size_t>(batches.size() / 2, 2, kBatch);
  for (std::size_t i = batches.size(); i-- > 0;) {
    const auto n = static_cast<double>(batches.size() - i);
    const double step = batches[i] - centre;
    centre += step / n;
    squares += step * (batches[i] - centre);
    const double score = squares / (n * n);
    if (batches.size() - i >= shortest && (cut == batches.size() || score <= best)) {
      best = score;
      cut = i;
    }
  }
  SLUICE_CHECK(require_finite(best, "MSER-5"));
  const std::size_t half = batches.size() / 2;
  return WarmUp{std::min(cut, half) * kBatch, cut <= half};
}

}  // namespace sluice::stats
