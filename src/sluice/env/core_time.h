// sluice/env/core_time.h - how long cores were busy, whoever kept them so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/known.h"
#include "sluice/env/system_root.h"

#include <cstddef>
#include <vector>

namespace sluice::env {

/// Of some cores together, since boot: only ever grows.
struct CoreTime {
  Known<double> busy_s;   // in processes and interrupts
  Known<double> steal_s;  // kept by the hypervisor
};

/// `cpus` ascending.
CoreTime core_time(const SystemRoot& root, const std::vector<int>& cpus);

/// (after - before - without_s) as a share of the time of so many cores. One tick on one core is
/// rounding, not a finding.
Known<double> share_of_cores(const Known<double>& before, const Known<double>& after,
                             double without_s, double elapsed_s, std::size_t cores);

}  // namespace sluice::env
