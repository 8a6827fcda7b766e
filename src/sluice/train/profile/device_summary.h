// sluice/train/profile/device_summary.h - what device records say about steps: kernels by time,
// gaps between them, and how far each op is from what the device can do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/train/model/op_cost.h"
#include "sluice/train/profile/device_record.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::train {

/// What a device reached in this process just before: the roofs that ops are held against.
struct Ceilings {
  double copy_gigabytes_per_s = 0;  // bytes read plus bytes written, a copy larger than any cache
  double product_teraflops = 0;     // a large bf16 product with fp32 sums
  double copy_bytes = 0;            // of the buffer that was copied
  std::int64_t product_side = 0;    // m, n and k
};
Json to_json(const Ceilings& ceilings);

struct KernelTotal {
  std::string name;      // readable
  std::string category;  // kernel_category(); copies and clears are "copies"
  std::int64_t launches = 0;
  double total_ms = 0;
  double share = 0;  // of the steps' time on the device
  [[nodiscard]] double mean_us() const {
    return launches > 0 ? total_ms * 1e3 / static_cast<double>(launches) : 0;
  }
};

/// A step's time on the device: from the start of its first kernel to the end of its last.
struct LaunchGaps {
  double device_ms = 0;      // mean of the steps
  double kernel_ms = 0;      // of it in which a kernel runs; what overlaps counts once
  double share = 0;          // in which none runs, of device_ms
  double share_of_idle = 0;  // in which neither a kernel nor a copy runs
};

/// One op, of all blocks, against the roofs. Bytes and FLOP are the least of model/op_cost.h, so
/// what stands here is an estimate of the work, not a count of it.
struct OpRoof {
  std::string op;         // "block*.qkv"
  double kernels = 0;     // launches per step
  double ms = 0;          // kernel time per step
  OpCost cost;            // per step; 0 bytes: not known
  double dram_share = 0;  // bytes per time over the copy's
  double math_share = 0;  // FLOP per time over the product's
  /// Least time by the roofs over the time taken: at most about 1.
  [[nodiscard]] double roof_share() const { return std::max(dram_share, math_share); }
  [[nodiscard]] const char* bound() const { return math_share > dram_share ? "math" : "memory"; }
};

struct DeviceSummary {
  std::int64_t steps = 0;
  double launches = 0;                  // kernels per step
  double in_graph = 0;                  // share of the kernels that were nodes of a graph
  std::vector<KernelTotal> kernels;     // longest first, copies included
  std::vector<KernelTotal> categories;  // longest first; name empty
  LaunchGaps gaps;
  std::vector<OpRoof> roofs;  // longest first; empty: no kernel knows its op
  double op_share = 0;        // of the kernel time that belongs to a known op
};

/// Steps without a kernel are left out.
DeviceSummary summarise(const std::vector<DeviceStep>& steps,
                        const std::map<std::string, OpCost>& costs, const Ceilings& ceilings);

/// kernels (the `top` longest), kernel_categories, launch_gaps, roofline.
Json to_json(const DeviceSummary& summary, std::size_t top);

}  // namespace sluice::train
