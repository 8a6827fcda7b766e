// sluice/analysis/advice.h - what would make a training step faster, by how much, and how to do it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/bottleneck.h"
#include "sluice/analysis/loader_use.h"
#include "sluice/results/conclusions.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::analysis {

using results::Advice;
using results::AdviceKind;

/// What was asked for, as far as advice depends on it.
struct LoaderSetting {
  int workers = 0;
  int prefetch = 2;
  unsigned cores = 1;
  bool remote = false, cached = false, bundled = false, persistent = true;
  bool direct = false;           // read past the page cache
  bool scaled = false;           // JPEGs are decoded at the smallest sufficient scale already
  bool step_on_cores = false;    // the step computes on the cores that load
  bool hands_floats = false;     // to a device, which could normalise bytes by itself
  double mean_sample_bytes = 0;  // encoded
  std::uint64_t items = 0;       // in an epoch; 0: not known
  int batch = 1;
  Sending sending{};  // to a GPU
};

/// What another way to decode, or other files, would cost: measured on some of the user's samples.
struct ProbedChange {
  stats::Estimate work;  // decode, augment and collate of a sample: changed over unchanged
  double bytes = 1;      // of a sample: changed over unchanged
};

struct ProbedData {
  std::optional<ProbedChange> scaled;   // JPEG decoded at the smallest sufficient scale
  std::optional<ProbedChange> smaller;  // files whose shorter side is `shorter_side`
  int shorter_side = 0;
  std::optional<ProbedChange> as_bytes;  // handed over as bytes, not normalised
};

struct AdviceFacts {
  StepTimes times;  // of a loader alone: `together` is `loader`, `model` 0
  Bottleneck verdict = Bottleneck::input;
  LoaderUse loader;            // alone
  double together_cpu_ms = 0;  // of all cores, per batch, loader and step; 0: not known
  LoaderSetting setting;
  ProbedData probed;
};

inline constexpr double kLeastGain = 1.03;  // at the lower end: below, nothing is promised

/// Best first. Nothing that the measured shares say cannot help: every gain's lower end is at least
/// kLeastGain. Empty where the step is the limit.
///
/// T_E' of a change that leaves the loader the share f of its work: max(T_M, f T_L) with the
/// unexplained rest as it is (lower end) or gone (upper end); where the step computes on the same
/// cores, no less than T_E less the core time saved (lower end) or its share of all core time,
/// which others may hold up (upper end).
std::vector<Advice> advise(const AdviceFacts& facts);

/// Of a loader that runs alone, or that feeds the step of `step`.
AdviceFacts advice_facts(const LoaderUse& loader, const LoaderSetting& setting,
                         const std::optional<Attribution>& step, const ProbedData& probed);

/// "1.60 to 2.00 x faster: use 4 workers instead of 2 (`--num-workers 4`)".
std::string advice_line(const Advice& advice);

}  // namespace sluice::analysis
