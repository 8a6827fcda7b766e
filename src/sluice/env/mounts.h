// sluice/env/mounts.h - the mount table, and the limits of the control group this process is in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/known.h"
#include "sluice/env/system_root.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::env {

struct Mount {
  std::string device;  // "254:0"
  std::string root;    // the part of the file system that is mounted: "/" mostly
  std::string point;
  std::string filesystem;  // "ext4"
  std::string source;      // "/dev/vda", "server:/share"
  std::string options;     // of the file system: "rw,cpu,cpuacct"
};

/// Lines of /proc/self/mountinfo; a line that is not understood is skipped.
std::vector<Mount> parse_mountinfo(std::string_view text);
/// The mount that `path` (absolute, normal) lies on: the longest, and of equal ones the last. Null
/// without any.
const Mount* find_mount(const std::vector<Mount>& mounts, const std::string& path);

struct CgroupLimits {
  Known<double> quota_cores;  // smallest over this group and those above it
  Known<std::int64_t> memory_bytes;
  Known<std::int64_t> throttled_periods;  // since the group was made
};

/// Version 1, version 2 and both mixed.
CgroupLimits read_cgroup_limits(const SystemRoot& root);

}  // namespace sluice::env
