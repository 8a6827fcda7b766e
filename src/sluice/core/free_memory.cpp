// sluice/core/free_memory.cpp - /proc/meminfo and the control group's files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/free_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace sluice {
namespace {

std::int64_t available_bytes() {
  std::ifstream in("/proc/meminfo");
  std::string word;
  std::int64_t kib = 0;
  while (in >> word) {
    if (word == "MemAvailable:" && in >> kib) return kib * 1024;
  }
  return 0;
}

/// "max", a missing file and cgroup v1 are all: no limit.
std::optional<std::int64_t> number_in(const char* path) {
  std::ifstream in(path);
  std::int64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

}  // namespace

std::int64_t free_memory_bytes() {
  const std::int64_t available = available_bytes();
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return available;
  return std::min(available, std::max<std::int64_t>(0, *limit - *used));
}

}  // namespace sluice
