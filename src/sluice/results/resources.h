// sluice/results/resources.h - what a machine did while a visit measured, moment by moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/conclusions.h"

#include <string>
#include <vector>

namespace sluice::results {

/// Of the whole machine, whoever used it: lists of one length, a value per moment. Those of a GPU
/// are empty where none was watched.
struct ResourceUse {
  double interval_s = 0;        // between two moments
  std::vector<double> at_s;     // since the first row began
  std::vector<double> cpu;      // share of all cores that worked since the moment before, 0 to 1
  std::vector<double> ram;      // bytes in use
  std::vector<double> gpu;      // share of time in which a kernel ran (NVML), 0 to 1
  std::vector<double> gpu_ram;  // bytes in use of the device (NVML)
  int cores = 0;                // that `cpu` is a share of
  double ram_total = 0;         // bytes
  double gpu_ram_total = 0;     // bytes; 0: no GPU was watched
  std::string no_gpu;           // why none was
};

void keys_of(Keys& keys, ResourceUse& use);

}  // namespace sluice::results
