// sluice/env/mounts.cpp - parses mountinfo and walks control groups upwards for their tightest
// limits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/mounts.h"

#include "sluice/core/cores.h"
#include "sluice/core/text.h"

#include <algorithm>
#include <optional>

namespace sluice::env {
namespace {

// The kernel writes blanks and backslashes in mountinfo as \ooo.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
    };
    if (text[i] == '\\' && digit(i + 1) >= 0 && digit(i + 2) >= 0 && digit(i + 3) >= 0) {
      out += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_inside(const std::string& path, const std::string& folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool contains(const std::vector<std::string>& items, std::string_view item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

// The group of one controller: files are looked for in each of `folders`, own group first, root
// last.
struct Group {
  int version = 0;
  std::vector<std::string> folders;
};

std::vector<std::string> folders_upwards(const Mount& mount, std::string path) {
  // Seen from inside a namespace the path may lie outside of what is mounted: then only the top is
  // ours.
  if (mount.root != "/") path = is_inside(path, mount.root) ? path.substr(mount.root.size()) : "/";
  if (path.find("..") != std::string::npos) path = "/";
  std::vector<std::string> folders;
  while (path.size() > 1) {
    folders.push_back(mount.point + path);
    path.resize(path.rfind('/'));
  }
  folders.push_back(mount.point);
  return folders;
}

std::optional<Group> find_group(const SystemRoot& root, std::string_view controller) {
  const auto text = root.read("/proc/self/cgroup");
  const auto table = root.read("/proc/self/mountinfo", 1 << 20);
  if (!text || !table) return std::nullopt;
  const std::vector<Mount> mounts = parse_mountinfo(*table);
  std::optional<Group> unified;
  for (const std::string& line : split(*text, '\n')) {
    // "4:cpu,cpuacct:/path" or "0::/path"
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    for (const Mount& mount : mounts) {
      if (names.empty() && mount.filesystem == "cgroup2") {
        unified = Group{2, folders_upwards(mount, path)};
      } else if (mount.filesystem == "cgroup" && contains(split(names, ','), controller) &&
                 contains(split(mount.options, ','), controller)) {
        return Group{1, folders_upwards(mount, path)};  // a mixed system has the controller here
      }
    }
  }
  return unified;
}

constexpr const char* kNoLimit = "no limit set";

// The reading is core's, so that the pool and the profile always agree on the cores.
Known<double> read_quota(const SystemRoot& root) {
  if (const auto groups = root.read("/proc/self/cgroup"); !groups) {
    return Known<double>::unknown(groups.reason);
  }
  const auto quota =
      cgroup_cpu_quota([&](const std::string& path) { return root.read(path).value; });
  return quota ? Known<double>(*quota) : Known<double>::unknown(kNoLimit);
}

Known<std::int64_t> read_throttled(const SystemRoot& root) {
  const auto group = find_group(root, "cpu");
  if (!group) return Known<std::int64_t>::unknown("no control group with a cpu controller");
  const auto stat = root.read(group->folders.front() + "/cpu.stat");
  const auto count = stat ? find_field(*stat, "nr_throttled") : std::nullopt;
  if (const auto number = count ? parse_int(*count) : std::nullopt) return *number;
  return Known<std::int64_t>::unknown("cpu.stat of the control group has no nr_throttled");
}

Known<std::int64_t> read_memory_limit(const SystemRoot& root) {
  // Version 1 writes "no limit" as the largest multiple of a page, version 2 as "max".
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;
  const auto group = find_group(root, "memory");
  if (!group) return Known<std::int64_t>::unknown("no control group with a memory controller");
  const char* file = group->version == 2 ? "/memory.max" : "/memory.limit_in_bytes";
  auto tightest = Known<std::int64_t>::unknown(kNoLimit);
  for (const std::string& folder : group->folders) {
    const auto text = root.read(folder + file);
    const auto number = text ? parse_int(*text) : std::nullopt;
    if (!number || *number < 0 || *number >= kUnlimited) continue;
    tightest = std::min(*number, tightest.value_or(kUnlimited));
  }
  return tightest;
}

}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string& line : split(text, '\n')) {
    // 36 35 98:0 /root /point options [tags...] - type source options
    const std::vector<std::string> parts = split(line, ' ');
    const auto dash = std::find(parts.begin(), parts.end(), "-");
    if (dash - parts.begin() < 6 || parts.end() - dash < 4) continue;
    Mount mount;
    mount.device = parts[2];
    mount.root = unescape(parts[3]);
    mount.point = unescape(parts[4]);
    mount.filesystem = *(dash + 1);
    mount.source = unescape(*(dash + 2));
    mount.options = *(dash + 3);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

const Mount* find_mount(const std::vector<Mount>& mounts, const std::string& path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (!is_inside(path, mount.point)) continue;
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best;
}

CgroupLimits read_cgroup_limits(const SystemRoot& root) {
  CgroupLimits limits;
  limits.quota_cores = read_quota(root);
  limits.memory_bytes = read_memory_limit(root);
  limits.throttled_periods = read_throttled(root);
  return limits;
}

}  // namespace sluice::env
