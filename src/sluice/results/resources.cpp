// sluice/results/resources.cpp - keys of the use of a machine over time.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/resources.h"

#include "sluice/results/keys.h"

namespace sluice::results {

void keys_of(Keys& keys, ResourceUse& use) {
  keys("interval_s", use.interval_s);
  keys("at_s", use.at_s);
  keys("cpu", use.cpu);
  keys("ram_bytes", use.ram);
  keys.unless_empty("gpu", use.gpu);
  keys.unless_empty("gpu_ram_bytes", use.gpu_ram);
  keys("cores", use.cores);
  keys("ram_total_bytes", use.ram_total);
  keys("gpu_ram_total_bytes", use.gpu_ram_total);
  keys.unless_empty("no_gpu", use.no_gpu);
}

}  // namespace sluice::results
