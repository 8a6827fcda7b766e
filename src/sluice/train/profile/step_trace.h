// sluice/train/profile/step_trace.h - profiled steps as plain data: regions, and the ops inside
// them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/train/model/op_cost.h"
#include "sluice/train/phase.h"
#include "sluice/train/profile/device_record.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::train {

/// A phase of a step. With gradient accumulation a phase may have several regions.
struct Region {
  Phase phase = Phase::data;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// One op of a profile; unlike OpSpan it owns its texts.
struct TracedOp {
  std::string name;
  std::string category;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// One step, data included. Times are those of one monotonic clock.
struct StepTrace {
  int cycle = 0;            // of the schedule, from 0
  std::int64_t number = 0;  // of all steps of the profile, waits and warm-ups included, from 0
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<Region> regions;  // in the order of time
  std::vector<TracedOp> ops;
};

/// What was profiled.
struct StepProfile {
  std::string model;    // "vit5-tiny"
  std::string device;   // as the engine reports it
  std::string library;  // of its matrix products
  std::string regime;
  int batch = 0;
  int threads = 1;
  std::vector<StepTrace> steps;          // the active ones
  std::map<std::string, OpCost> costs;   // of the ops of a program, by name
  std::vector<DeviceStep> device_steps;  // of another pass, on the same clock: rows of the trace
};

/// What all traces say about it: model, device, library, regime, batch, threads.
Json about_json(const StepProfile& profile);

/// Time of ops that are one thing: "block3.qkv" and "block7.qkv" are "block*.qkv".
struct OpTotal {
  std::string name;
  std::string category;
  std::int64_t calls = 0;
  double total_ms = 0;
  double share = 0;  // of all steps
  OpCost cost;       // of all calls; 0 bytes: not known
  [[nodiscard]] double gigabytes_per_s() const {
    return total_ms > 0 ? cost.bytes / total_ms * 1e-6 : 0;
  }
  [[nodiscard]] double teraflops() const { return total_ms > 0 ? cost.flop / total_ms * 1e-9 : 0; }
};
struct CategoryTotal {
  std::string category;
  std::int64_t calls = 0;
  double total_ms = 0;
  double share = 0;
};

struct ProfileSummary {
  std::int64_t steps = 0;
  double step_ms = 0;                     // mean, while observed: never a measurement
  std::vector<CategoryTotal> phases;      // in the order of a step
  std::vector<OpTotal> ops;               // longest first
  std::vector<CategoryTotal> categories;  // longest first
  double region_coverage = 0;             // share of the steps that lies in a region
  double op_coverage = 0;                 // in an op
};
ProfileSummary summarise(const StepProfile& profile);
/// step_ms, phases, categories, top_ops (the `top` longest), coverage.
Json to_json(const ProfileSummary& summary, std::size_t top);

/// "block3.qkv" -> "block*.qkv".
std::string without_block(const std::string& name);

}  // namespace sluice::train
