// sluice/backend/gcp/machines.h - the machine plan and the quota, as data: what a machine type is,
// which rows it may measure, how much of everything a project may hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/plan/run_config.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::backend::gcp {

/// What one machine takes of a quota, and how it is made.
struct Shape {
  std::string family;  // "c4"
  int vcpus = 0;
  int gpus = 0;
  bool hyperdisk = false;  // its disk counts against the quota of Hyperdisk Balanced
};

/// Of all machines that exist at one time. The defaults are those of the published benchmark.
struct Quota {
  int vcpus = 128;             // all families
  int c4_vcpus = 96;           // of them C4
  int gpus = 1;                //
  std::int64_t disk_gb = 500;  // Hyperdisk Balanced, which C4 and C4D need; G2 has other disks
};

/// "gpus=2,vcpus=256": what is named replaces the default.
Result<Quota> parse_quota(std::string_view text);
/// "128 vCPU, 96 of C4, 1 GPU, 500 GB Hyperdisk".
std::string to_text(const Quota& quota);

/// The shape of cloud.machine_type (and cloud.gpu_type). An Error names the families that we know.
Result<Shape> shape_of(const plan::Cloud& cloud);

/// CPU tables on machines without a GPU, GPU rows on machines with one; C4D measures RGB micro
/// rows, and a DataLoader of at most 1,000 items.
Status check_rows(const plan::RunConfig& config, const Shape& shape);

/// Some transform or batch of the configuration goes to a GPU.
bool wants_gpu(const plan::RunConfig& config);

}  // namespace sluice::backend::gcp
