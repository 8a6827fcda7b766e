// sluice/gate/baseline/fence.cpp - least squares, a robust spread, a prediction interval; all in
// logarithms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/fence.h"

#include "sluice/stats/distribution.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

/// One visit: the logarithm of the figure, and the canary's.
struct FencePoint {
  double y = 0;
  std::optional<double> canary;
};

std::vector<FencePoint> points_of(const std::vector<Visit>& history, const std::string& figure,
                                  const std::optional<std::string>& version) {
  std::vector<FencePoint> points;
  for (const Visit& visit : history) {
    const auto at = visit.figures.find(figure);
    if (at == visit.figures.end() || at->second <= 0) continue;
    FencePoint point{std::log(at->second), std::nullopt};
    if (version && visit.canary && visit.canary->version == *version)
      point.canary = visit.canary->log_speed();
    points.push_back(point);
  }
  return points;
}

double clipped_slope(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = *stats::mean(x);
  const double mean_y = *stats::mean(y);
  double together = 0;
  double alone = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    together += (x[i] - mean_x) * (y[i] - mean_y);
    alone += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return alone > 0 ? std::clamp(together / alone, 0.0, 1.0) : 0;
}

double spread_of(const std::vector<double>& values) {
  const double robust = *stats::mad(values);
  return robust > 0 ? robust : *stats::sd(values);
}

double half_width(const std::vector<double>& values, double alpha) {
  const auto n = static_cast<double>(values.size());
  return *stats::student_t_quantile(1 - alpha, n - 1) * spread_of(values) * std::sqrt(1 + 1 / n);
}

}  // namespace

Result<Fence> make_fence(const std::vector<Visit>& history, const std::string& figure,
                         const std::optional<std::string>& canary_version,
                         const FenceOptions& options) {
  const std::vector<FencePoint> points = points_of(history, figure, canary_version);
  if (points.size() < std::max<std::size_t>(options.least_visits, 3))
    return Error{Errc::not_found, fmt::format("{} of {} runs stored: no fence yet", points.size(),
                                              options.least_visits)};
  Fence fence;
  fence.visits = points.size();
  std::vector<double> y;
  std::vector<double> told;    // figures of the visits with a canary,
  std::vector<double> canary;  // and those
  for (const FencePoint& point : points) {
    y.push_back(point.y);
    if (!point.canary) continue;
    told.push_back(point.y);
    canary.push_back(*point.canary);
  }
  std::vector<double> rest = y;
  if (canary.size() >= std::max<std::size_t>(options.least_for_canary, 2)) {
    fence.canary_mean = *stats::mean(canary);
    fence.beta = clipped_slope(canary, told);
    for (std::size_t i = 0; i < rest.size(); ++i)
      rest[i] -= fence.beta * (points[i].canary.value_or(fence.canary_mean) - fence.canary_mean);
  }
  fence.centre = *stats::mean(rest);
  fence.spread = spread_of(rest);
  fence.half_width = half_width(rest, options.alpha);
  const double plain = half_width(y, options.alpha);
  fence.narrowed = plain > 0 ? 1 - fence.half_width / plain : 0;
  return fence;
}

GateLine fence_line(const std::vector<Visit>& history, const Visit& current,
                    const std::string& figure, int worse, const FenceOptions& options) {
  GateLine line;
  line.metric = "fence/" + figure;
  line.kind = LineKind::fence;
  if (worse < 0) line.better = measure::Better::higher;
  line.delta_unit = "%";
  const auto now = current.figures.find(figure);
  if (now == current.figures.end() || now->second <= 0) {
    line.reason = "the current run has no such figure above 0";
    return line;
  }
  line.current = now->second;
  const auto version = current.canary ? std::optional(current.canary->version) : std::nullopt;
  const auto fence = make_fence(history, figure, version, options);
  if (!fence) {
    line.reason = fence.error().message;
    return line;
  }
  const double shift =
      current.canary ? fence->beta * (current.canary->log_speed() - fence->canary_mean) : 0;
  const double expected = fence->centre + shift;
  const double change = std::log(now->second) - expected;
  line.baseline = std::exp(expected);
  line.delta = 100 * std::expm1(change);
  const double limit = std::max(fence->half_width, std::log1p(options.floor));
  line.threshold = fmt::format("at most {:.2f} % {}", 100 * std::abs(std::expm1(worse * limit)),
                               worse > 0 ? "more" : "less");
  const bool beyond = worse * change > limit;
  line.status = beyond ? GateStatus::fail : GateStatus::pass;
  line.reason = fmt::format("{} the prediction fence of {} runs", beyond ? "beyond" : "within",
                            fence->visits);
  std::string note = fmt::format("fence at {:+.2f} % over {} runs",
                                 100 * std::expm1(worse * fence->half_width), fence->visits);
  note += fence->beta > 0 ? fmt::format("; the canary (beta {:.2f}) {} it by {:.0f} %", fence->beta,
                                        fence->narrowed >= 0 ? "narrowed" : "widened",
                                        100 * std::abs(fence->narrowed))
                          : "; the canary did not narrow it (beta 0)";
  line.details =
      Json{{"visits", fence->visits},     {"alpha", options.alpha},
           {"beta", fence->beta},         {"half_width_pct", 100 * std::expm1(fence->half_width)},
           {"narrowed", fence->narrowed}, {"note", note}};
  return line;
}

}  // namespace sluice::gate
