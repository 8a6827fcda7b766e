// sluice/core/cores.cpp - reads affinity and cgroup limits from the kernel.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/cores.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sched.h>
#include <thread>
#include <vector>

namespace sluice {
namespace {

std::optional<long long> parse_integer(std::string_view text) {
  text = trimmed(text);
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> stricter(std::optional<double> a, std::optional<double> b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

/// Calls `visit` with `group` and each of its parents: "/a/b", "/a", "".
template <class Visit>
void for_each_ancestor(std::string group, Visit visit) {
  while (!group.empty() && group.back() == '/')
    group.pop_back();
  for (;;) {
    visit(group);
    if (group.empty()) return;
    group.erase(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

std::optional<double> quota_v2(const ReadFile& read, const std::string& group) {
  std::optional<double> quota;
  for_each_ancestor(group, [&](const std::string& part) {
    const std::string path = fmt::format("/sys/fs/cgroup{}/cpu.max", part);
    if (const auto text = read(path)) {
      quota = stricter(quota, parse_cpu_max(*text));
    }
  });
  return quota;
}

std::optional<double> quota_v1(const ReadFile& read, const std::string& controllers,
                               const std::string& group) {
  std::optional<double> quota;
  for (const std::string& mount : {controllers, std::string("cpu")}) {
    for_each_ancestor(group, [&](const std::string& part) {
      const std::string folder = fmt::format("/sys/fs/cgroup/{}{}", mount, part);
      const auto limit = read(folder + "/cpu.cfs_quota_us");
      const auto period = read(folder + "/cpu.cfs_period_us");
      if (limit && period) quota = stricter(quota, parse_cfs_quota(*limit, *period));
    });
  }
  return quota;
}

}  // namespace

std::optional<unsigned> affinity_cores() {
  // The kernel refuses a mask smaller than its own, so grow until it is taken.
  for (std::size_t cpus = 1024; cpus <= (std::size_t{1} << 20U); cpus *= 2) {
    std::vector<cpu_set_t> mask(cpus / (8 * sizeof(cpu_set_t)));
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) {
      return static_cast<unsigned>(CPU_COUNT_S(bytes, mask.data()));
    }
    if (errno != EINVAL) break;
  }
  return std::nullopt;
}

std::optional<double> parse_cfs_quota(std::string_view quota, std::string_view period) {
  const auto limit = parse_integer(quota);
  const auto length = parse_integer(period);
  if (!limit || !length || *limit <= 0 || *length <= 0) return std::nullopt;
  return static_cast<double>(*limit) / static_cast<double>(*length);
}

std::optional<double> parse_cpu_max(std::string_view text) {
  text = trimmed(text);
  const auto space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return parse_cfs_quota(text.substr(0, space), text.substr(space + 1));
}

std::optional<double> cgroup_cpu_quota(const ReadFile& read) {
  const auto groups = read("/proc/self/cgroup");
  if (!groups) return std::nullopt;
  std::optional<double> quota;
  for (const std::string& line : split(*groups, '\n')) {  // "4:cpu,cpuacct:/group", "0::/group"
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      quota = stricter(quota, quota_v2(read, group));
      continue;
    }
    const auto names = split(controllers, ',');
    if (std::find(names.begin(), names.end(), "cpu") == names.end()) continue;
    quota = stricter(quota, quota_v1(read, controllers, group));
  }
  return quota;
}

std::optional<double> cgroup_cpu_quota() {
  return cgroup_cpu_quota([](const std::string& path) -> std::optional<std::string> {
    constexpr std::uint64_t kLimit = 1 << 16;
    auto text = read_text_file(path, kLimit);
    if (!text) return std::nullopt;
    return std::move(text).value();
  });
}

unsigned usable_cores() {
  unsigned cores = affinity_cores().value_or(std::thread::hardware_concurrency());
  // Rounded down: with 1.5 cores a second busy thread only gets the process throttled.
  if (const auto quota = cgroup_cpu_quota(); quota && *quota < cores) {
    cores = static_cast<unsigned>(*quota);
  }
  return std::max(1U, cores);
}

}  // namespace sluice
