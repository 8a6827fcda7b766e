// sluice/env/machine.h - the parts of an Environment that come from files of the kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/environment.h"
#include "sluice/env/mounts.h"
#include "sluice/env/system_root.h"

#include <filesystem>
#include <string_view>

namespace sluice::env {

/// None of these fails: what a file does not tell is unknown, with the reason.
Cpu read_cpu(const SystemRoot& root);
Cores read_cores(const SystemRoot& root, const CgroupLimits& limits);
Frequency read_frequency(const SystemRoot& root);
Memory read_memory(const SystemRoot& root, const CgroupLimits& limits);
Host read_host(const SystemRoot& root);
/// `data_dir` need not exist: what counts is the disk it would be made on.
Storage read_storage(const SystemRoot& root, const std::filesystem::path& data_dir);

/// CPUs this process may run on; those online if that is not known, else {0}.
std::vector<int> allowed_cpus(const SystemRoot& root);
/// "sse4" ... "sve" from the flags of /proc/cpuinfo, separated by blanks.
std::string isa_level(std::string_view flags);

}  // namespace sluice::env
