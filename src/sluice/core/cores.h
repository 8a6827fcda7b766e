// sluice/core/cores.h - what limits the cores of this process: affinity mask and cgroup quota.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Cores in the affinity mask of the calling thread; nothing when the kernel does not say.
std::optional<unsigned> affinity_cores();

/// Gives the text of a file, or nothing when it cannot be read. Tests pass their own.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

/// CPU time per wall time that the cgroup grants (1.5 = one and a half cores), the strictest of the
/// group and its parents; nothing when there is no quota. Looks at version 2 (cpu.max) and version
/// 1 (cpu.cfs_*).
std::optional<double> cgroup_cpu_quota(const ReadFile& read);
std::optional<double> cgroup_cpu_quota();

/// "max 100000" gives nothing, "150000 100000" gives 1.5; text of any other shape gives nothing.
std::optional<double> parse_cpu_max(std::string_view text);
/// Version 1: quota "-1" gives nothing.
std::optional<double> parse_cfs_quota(std::string_view quota, std::string_view period);

}  // namespace sluice
