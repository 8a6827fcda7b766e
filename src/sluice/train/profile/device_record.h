// sluice/train/profile/device_record.h - what ran on a device, as plain data: kernels, copies, and
// the steps they belong to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::train {

enum class DeviceWork : std::uint8_t { kernel, copy, clear };

/// One piece of work. Times are those of now_ns().
struct DeviceRecord {
  DeviceWork work = DeviceWork::kernel;
  std::string name;  // of a kernel as the compiler mangled it; "copy host to device", "clear"
  std::string op;    // what issued it, "block3.qkv"; empty: not known
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t stream = 0;
  std::uint64_t bytes = 0;  // of copies and clears
  bool in_graph = false;    // a node of a replayed graph
};

/// One step as the host saw it, and what ran between its ends, in the order of starts.
struct DeviceStep {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<DeviceRecord> records;
};

/// Puts every record into the step in which it started; what lies between steps is left out.
void sort_into_steps(std::vector<DeviceRecord> records, std::vector<DeviceStep>& steps);

/// Gives the kernels of `step` the ops of those of `issued`, a step of the same work whose ops are
/// known: in a replayed graph kernels run in the order in which they were captured, but CUPTI does
/// not know who issued them. False, and nothing changed, when names or number differ.
bool label_by_order(DeviceStep& step, const DeviceStep& issued);

}  // namespace sluice::train
