// sluice/backend/gcp/waves.h - which machines run at the same time, and in which order. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/gcp/machines.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::backend::gcp {

/// The order of the published benchmark: RGB, then 9 channels, then video; in each first the micro
/// rows of CPU and GPU together, then their DataLoaders, then decoders.
int stage_of(const plan::RunConfig& config);

/// One machine that is to be made.
struct Wanted {
  std::string name;  // of the configuration, for errors
  std::string machine_type;
  int stage = 0;
  Shape shape;
  std::int64_t disk_gb = 0;
};

/// What several machines take together.
struct Load {
  int vcpus = 0, c4_vcpus = 0, gpus = 0;
  std::int64_t disk_gb = 0;  // Hyperdisk
  void add(const Wanted& machine);
};
std::string to_text(const Load& load);

using Wave = std::vector<std::size_t>;  // places in the list of wanted machines

/// Stages in order, machines of a stage in the order given; each goes into the first wave of its
/// stage that has room for it. A machine that no empty quota holds is an Error that names it.
Result<std::vector<Wave>> make_waves(const std::vector<Wanted>& wanted, const Quota& quota);

}  // namespace sluice::backend::gcp
