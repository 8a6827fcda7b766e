// sluice/analysis/training_use.h - what the steps of a training row add up to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::analysis {

struct PhaseUse {
  std::string name;    // data, transfer, forward, ...
  double seconds = 0;  // mean over the middle third of the instrumented steps
};

/// Of the run whose median step is the shortest; the others are counted in `medians_s` alone.
struct TrainingUse {
  std::size_t best_run = 0;
  std::vector<double> medians_s;  // of every run, in order
  std::vector<double> step_s;     // natural: nothing but two readings of the clock per step
  std::vector<double> losses;     // of the same steps; may be empty: the library does not tell
  std::vector<std::int64_t> loss_steps;  // before each loss, timed or not: how far the model was
  std::vector<double> loss_at;           // the natural step of each loss; empty: every step has one
  // Of each natural step, as a watched program reports them; empty: it does not, or not for all.
  std::vector<double> step_tokens, step_samples, step_flop;
  std::vector<double> gradient_norms;
  std::vector<double> data_s;               // of each natural step, waiting for its batches
  std::vector<PhaseUse> phases;             // empty: not instrumented
  std::int64_t phase_steps = 0;             // of the instrumented pass
  double instrumented_s = 0;                // median step of that pass
  std::optional<double> peak_bytes;         // of the engine's own memory
  std::optional<double> reserved_bytes;     // allocated for it
  std::optional<double> driver_peak_bytes;  // of the device, as its driver counts for the process
  std::optional<double> executed_flop;      // of the matrix products of a step, as they ran
  std::optional<double> waited_share;   // of the natural steps: threads wanted a core and had none
  std::optional<double> cpu_s;          // CPU time of the natural steps, all threads
  std::optional<double> touched_bytes;  // memory touched for the first time in them
  std::optional<double> rss_bytes;      // resident, after them
  std::optional<double> least_bytes;    // that the ops of a step must move
  std::vector<double> memory_by_step;   // bytes after steps that were not timed, in order
  std::optional<std::int64_t> first_step_ns;  // CLOCK_MONOTONIC at its start, of the first run
  Json engine;  // device, library, threads, types in force; null: unknown
  Json data;    // where batches come from
};

/// Nothing when the row has no samples.
std::optional<TrainingUse> training_use(const measure::Row& row);

/// Of a watched program: the part of its runs that lies in marked steps. Nothing: not known.
std::optional<double> marked_share(const measure::Row& row);
inline constexpr double kLittleMarked = 0.1;  // below it a reader is told

/// Index of the smallest value; the first of equals. Precondition: not empty.
std::size_t best_of(std::span<const double> medians);

/// Slope of the least-squares line of `values` over 0, 1, 2, ..., or over `at`, as many and not all
/// equal; nothing below two values.
std::optional<double> loss_slope(std::span<const double> values, std::span<const double> at = {});

/// Standard error of that slope over 0, 1, 2, ..., from how the values scatter around the line, as
/// if each were drawn anew; nothing below three values.
std::optional<double> loss_slope_error(std::span<const double> values);

/// per_device_batch · world · sequence · grad_accum.
std::int64_t tokens_per_step(std::int64_t per_device_batch, std::int64_t world,
                             std::int64_t sequence, std::int64_t grad_accum);

inline constexpr double kReconciled = 0.02;  // of a step that no phase explains, at most

/// A natural step beside the sum of its phases.
struct Reconciliation {
  double natural_s = 0;
  double phases_s = 0;
  [[nodiscard]] double residual_s() const { return natural_s - phases_s; }
  [[nodiscard]] double share() const { return natural_s > 0 ? residual_s() / natural_s : 0; }
  /// Within kReconciled either way.
  [[nodiscard]] bool reconciled() const;
};
/// Nothing without an instrumented pass.
std::optional<Reconciliation> reconcile(const TrainingUse& use);

}  // namespace sluice::analysis
