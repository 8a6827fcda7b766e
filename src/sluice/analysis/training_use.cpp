// sluice/analysis/training_use.cpp - details that nobody vouches for, put in order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/training_use.h"

#include "sluice/core/json.h"
#include "sluice/stats/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::analysis {
namespace {

constexpr double kMostWaited = 0.99;

/// The finite numbers of a list, each times `scale`.
void append_numbers(std::vector<double>& values, const Json& list, double scale) {
  if (!list.is_array()) return;
  for (const Json& item : list) {
    if (!item.is_number()) continue;
    const double value = item.get<double>() * scale;
    if (std::isfinite(value)) values.push_back(value);
  }
}

/// Where the worker does not say how many steps it took before, those that it told of count.
void append_steps(TrainingUse& use, const Json& before) {
  const auto known = static_cast<std::int64_t>(use.loss_steps.size());
  std::int64_t step = before.is_number_integer() ? before.get<std::int64_t>() : known;
  while (use.loss_steps.size() < use.losses.size())
    use.loss_steps.push_back(step++);
}

void keep_largest(std::optional<double>& largest, const Json& value) {
  if (value.is_number()) largest = std::max(largest.value_or(0), value.get<double>());
}

std::vector<double> seconds_of(const std::vector<std::int64_t>& samples_ns) {
  std::vector<double> seconds;
  for (const std::int64_t ns : samples_ns)
    if (ns > 0) seconds.push_back(static_cast<double>(ns) * 1e-9);
  return seconds;
}

/// Indices of the values in the middle third by size; one at least, unless there are none.
std::vector<std::size_t> middle_third(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const std::size_t cut = order.size() / 3;
  return {order.begin() + static_cast<std::ptrdiff_t>(cut),
          order.end() - static_cast<std::ptrdiff_t>(cut)};
}

/// Phases of all turns of a run, step after step.
void read_phases(TrainingUse& use, const Json& details) {
  std::vector<std::pair<std::string, std::vector<double>>> all;
  std::vector<double> steps;
  for (const Json& one : details) {
    append_numbers(steps, at(one, "phased_step_ns"), 1e-9);
    const Json& phases = at(one, "phases_ns");
    if (!phases.is_object()) continue;
    for (const auto& [name, list] : phases.items()) {
      const auto known = std::find_if(all.begin(), all.end(), [&name = name](const auto& other) {
        return other.first == name;
      });
      auto& values =
          known != all.end() ? known->second : all.emplace_back(name, std::vector<double>{}).second;
      append_numbers(values, list, 1e-9);
    }
  }
  const std::vector<std::size_t> typical = middle_third(steps);
  for (const auto& [name, values] : all) {
    if (values.size() != steps.size() || steps.empty()) continue;
    double sum = 0;
    for (const std::size_t i : typical)
      sum += values[i];
    use.phases.push_back({name, sum / static_cast<double>(typical.size())});
  }
  use.phase_steps = static_cast<std::int64_t>(steps.size());
  if (!steps.empty()) use.instrumented_s = *stats::median(steps);
}

/// The last turn has all of them.
void read_memory(TrainingUse& use, const Json& details) {
  if (details.empty()) return;
  const Json& points = at(details.back(), "memory_by_step");
  if (!points.is_array()) return;
  for (const Json& point : points)
    if (point.is_array() && point.size() == 2)
      append_numbers(use.memory_by_step, Json::array({point[1]}), 1);
}

/// Nothing unless every turn of the run tells. Threads that wait together lose that time once: no
/// more can be lost than what their cores did not work.
std::optional<double> waited_share_of(const measure::Run& run, const std::vector<double>& step_s,
                                      int threads) {
  double waited_s = 0;
  for (const Json& one : run.details) {
    const Json& waited_ns = at(one, "waited_ns");
    if (!waited_ns.is_number() || !(waited_ns.get<double>() >= 0)) return std::nullopt;
    waited_s += waited_ns.get<double>() * 1e-9;
  }
  const double total_s = std::accumulate(step_s.begin(), step_s.end(), 0.0);
  if (run.details.empty() || total_s <= 0) return std::nullopt;
  const double worked = static_cast<double>(run.cpu_ns) * 1e-9 / (std::max(threads, 1) * total_s);
  return std::clamp(std::min(waited_s / total_s, 1 - worked), 0.0, kMostWaited);
}

}  // namespace

std::optional<TrainingUse> training_use(const measure::Row& row) {
  TrainingUse use;
  std::vector<std::size_t> which;  // the run of each median
  for (std::size_t i = 0; i < row.runs.size(); ++i) {
    const std::vector<double> seconds = seconds_of(row.runs[i].samples_ns);
    if (seconds.empty()) continue;
    use.medians_s.push_back(*stats::median(seconds));
    which.push_back(i);
  }
  if (which.empty()) return std::nullopt;
  use.best_run = which[best_of(use.medians_s)];
  const measure::Run& best = row.runs[use.best_run];
  use.step_s = seconds_of(best.samples_ns);
  if (!best.details.is_array()) return use;
  for (const Json& one : best.details) {
    append_numbers(use.losses, at(one, "losses"), 1);
    append_numbers(use.losses, Json::array({at(one, "loss")}), 1);  // of a library's single step
    append_steps(use, at(one, "steps_before"));
    append_numbers(use.loss_at, at(one, "loss_at"), 1);
    append_numbers(use.step_tokens, at(one, "step_tokens"), 1);
    append_numbers(use.step_samples, at(one, "step_samples"), 1);
    append_numbers(use.step_flop, at(one, "step_flop"), 1);
    append_numbers(use.gradient_norms, at(one, "gradient_norms"), 1);
    append_numbers(use.data_s, at(one, "data_ns"), 1e-9);
    keep_largest(use.peak_bytes, at(one, "peak_bytes"));
    keep_largest(use.reserved_bytes, at(one, "reserved_bytes"));
    keep_largest(use.driver_peak_bytes, at(one, "driver_peak_bytes"));
    keep_largest(use.executed_flop, at(one, "flop_executed"));
    keep_largest(use.least_bytes, at(one, "least_bytes"));
    keep_largest(use.rss_bytes, at(one, "rss_bytes"));
    if (const Json& touched = at(one, "touched_bytes"); touched.is_number())
      use.touched_bytes = use.touched_bytes.value_or(0) + touched.get<double>();
    if (at(one, "engine").is_object()) use.engine = at(one, "engine");
    if (at(one, "data").is_object()) use.data = at(one, "data");
  }
  for (std::vector<double>* values : {&use.step_tokens, &use.step_samples, &use.step_flop})
    if (values->size() != use.step_s.size()) values->clear();
  if (use.loss_at.size() != use.losses.size()) use.loss_at.clear();
  use.waited_share = waited_share_of(best, use.step_s, row.thread_policy.asked);
  if (best.cpu_ns > 0) use.cpu_s = static_cast<double>(best.cpu_ns) * 1e-9;
  read_memory(use, best.details);
  read_phases(use, best.details);
  const Json& earliest = row.runs.front().details;
  if (earliest.is_array() && !earliest.empty()) {
    const Json& first = at(earliest.front(), "first_step_ns");
    if (first.is_number_integer()) use.first_step_ns = first.get<std::int64_t>();
  }
  return use;
}

std::optional<double> marked_share(const measure::Row& row) {
  double marked = 0;
  double ran = 0;
  for (const measure::Run& run : row.runs) {
    if (!run.details.is_array() || run.details.empty()) return std::nullopt;
    const Json& marked_ns = at(run.details.front(), "marked_ns");
    const Json& run_ns = at(run.details.front(), "run_ns");
    if (!marked_ns.is_number() || !run_ns.is_number()) return std::nullopt;
    marked += marked_ns.get<double>();
    ran += run_ns.get<double>();
  }
  return ran > 0 ? std::optional(marked / ran) : std::nullopt;
}

std::size_t best_of(std::span<const double> medians) {
  return static_cast<std::size_t>(
      std::distance(medians.begin(), std::min_element(medians.begin(), medians.end())));
}

namespace {

/// The least-squares line of values over 0, 1, 2, ... or over `at`.
class Line {
 public:
  Line(std::span<const double> values, std::span<const double> at) : values_(values), at_(at) {
    const auto count = static_cast<double>(values.size());
    middle_ = at.empty() ? (count - 1) / 2 : std::accumulate(at.begin(), at.end(), 0.0) / count;
    for (const double value : values)
      mean_ += value / count;
    double products = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      products += offset(i) * (values[i] - mean_);
      squares += offset(i) * offset(i);
    }
    slope = squares > 0 ? products / squares : 0;
  }
  [[nodiscard]] double residual(std::size_t i) const {
    return values_[i] - mean_ - slope * offset(i);
  }
  double slope = 0;
  double squares = 0;  // of the distances from the middle; 0: all are at one place

 private:
  [[nodiscard]] double offset(std::size_t i) const {
    return (at_.empty() ? static_cast<double>(i) : at_[i]) - middle_;
  }
  std::span<const double> values_, at_;
  double middle_ = 0, mean_ = 0;
};

}  // namespace

std::optional<double> loss_slope(std::span<const double> values, std::span<const double> at) {
  if (values.size() < 2) return std::nullopt;
  const Line line(values, at);
  return line.squares > 0 ? std::optional(line.slope) : std::nullopt;
}

std::optional<double> loss_slope_error(std::span<const double> values) {
  if (values.size() < 3) return std::nullopt;
  const Line line(values, {});
  double residuals = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    residuals += line.residual(i) * line.residual(i);
  return std::sqrt(residuals / (static_cast<double>(values.size()) - 2) / line.squares);
}

std::int64_t tokens_per_step(std::int64_t per_device_batch, std::int64_t world,
                             std::int64_t sequence, std::int64_t grad_accum) {
  return per_device_batch * world * sequence * grad_accum;
}

bool Reconciliation::reconciled() const {
  return std::abs(share()) <= kReconciled;
}

std::optional<Reconciliation> reconcile(const TrainingUse& use) {
  if (use.phases.empty() || use.step_s.empty()) return std::nullopt;
  Reconciliation result;
  result.natural_s = *stats::median(use.step_s);
  for (const PhaseUse& phase : use.phases)
    result.phases_s += phase.seconds;
  return result;
}

}  // namespace sluice::analysis
