// sluice/train/profile/device_profile.h - the passes of a profile that look at a GPU itself:
// natural steps, steps with events in their graph, and steps whose kernels CUPTI records.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/train/profile/device_counters.h"
#include "sluice/train/profile/device_summary.h"
#include "sluice/train/profile/profile.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::train {

struct DevicePasses {
  int warmup = 4;  // the first step searches products, the second captures, later ones replay
  int timed = 10;  // of the natural pass, and of the one with events
  int traced = 5;
};

/// What could not be had is a reason, not an error: a machine may lack CUPTI.
struct DeviceProfile {
  std::optional<Ceilings> ceilings;
  std::string no_ceilings;           // why
  std::vector<double> natural_ms;    // per step, nothing inside
  std::vector<double> events_ms;     // per step, with the events of phases in the graph
  std::vector<double> phase_sum_ms;  // of those, the sum of the phases
  std::vector<DeviceStep> steps;     // empty: no trace
  DeviceStep issued;                 // a step whose ops were issued one by one
  std::string no_trace;              // why
  std::string note;                  // about the trace: lost records
  std::string no_ops;  // why the kernels of `steps` do not know their ops; empty: they do
  std::optional<DeviceCounters> counters;
  std::string no_counters;  // why
  std::map<std::string, OpCost> costs;
  DeviceSummary summary;
};

/// Runs on config.device, "cuda:N", with engines of its own. `next` gives the batches; `resident`:
/// only the first, used again and again. Errors are those of the engine and of `next`.
Result<DeviceProfile> profile_device(const EngineConfig& config, const BatchSource& next,
                                     bool resident, const DevicePasses& passes = {});

/// Everything but the records themselves; `top` kernels.
Json to_json(const DeviceProfile& profile, std::size_t top);

double median_of(std::vector<double> values);  // 0 of none

}  // namespace sluice::train
