// sluice/env/machine.cpp - cores, frequency, memory, kernel and what the kernel runs in.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/machine.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::env {
namespace {

constexpr const char* kCpuFolder = "/sys/devices/system/cpu";

Known<std::vector<int>> read_id_list(const SystemRoot& root, const std::string& path) {
  const auto text = root.read(path);
  if (!text) return Known<std::vector<int>>::unknown(text.reason);
  if (const auto ids = parse_id_list(*text)) return *ids;
  return Known<std::vector<int>>::unknown(
      fmt::format("{} holds '{}', not a list of numbers", path, printable(text->substr(0, 40))));
}

Known<std::vector<int>> read_affinity(const SystemRoot& root) {
  const auto status = root.read("/proc/self/status");
  if (!status) return Known<std::vector<int>>::unknown(status.reason);
  const auto list = find_field(*status, "Cpus_allowed_list");
  const auto ids = list ? parse_id_list(*list) : std::nullopt;
  if (ids) return *ids;
  return Known<std::vector<int>>::unknown("/proc/self/status has no list of allowed CPUs");
}

// A list of cores is cheaper and more exact than counting in cpuinfo, which some sandboxes alone
// provide.
Known<std::int64_t> count_online(const SystemRoot& root) {
  const auto online = read_id_list(root, std::string(kCpuFolder) + "/online");
  if (online) return static_cast<std::int64_t>(online->size());
  const auto text = root.read("/proc/cpuinfo", 4 << 20);
  std::int64_t count = 0;
  for (const std::string& line : split(text.value_or(""), '\n')) {
    if (line.starts_with("processor")) ++count;
  }
  if (count > 0) return count;
  return Known<std::int64_t>::unknown(online.reason);
}

Known<std::int64_t> meminfo_bytes(const Known<std::string>& meminfo, std::string_view key) {
  if (!meminfo) return Known<std::int64_t>::unknown(meminfo.reason);
  std::string text = find_field(*meminfo, key).value_or("");
  if (text.ends_with(" kB")) text.resize(text.size() - 3);
  const auto number = parse_int(trim(text));
  if (number && *number >= 0 && *number < (std::int64_t{1} << 50)) return *number * 1024;
  return Known<std::int64_t>::unknown(fmt::format("/proc/meminfo has no number for {}", key));
}

Known<bool> as_switch(const Known<std::int64_t>& number, std::int64_t on) {
  return number ? Known<bool>(*number == on) : Known<bool>::unknown(number.reason);
}

std::string container_hint(const SystemRoot& root) {
  if (root.exists("/var/run/secrets/kubernetes.io")) return "kubernetes";
  const std::string groups = root.read("/proc/1/cgroup").value_or("");
  if (groups.find("kubepods") != std::string::npos) return "kubernetes";
  if (root.exists("/.dockerenv")) return "docker";
  if (root.exists("/run/.containerenv")) return "podman";
  for (const char* name : {"docker", "libpod", "lxc", "containerd"}) {
    if (groups.find(name) != std::string::npos) {
      return std::string_view(name) == "libpod" ? "podman" : name;
    }
  }
  return "none";
}

std::string virtualisation_hint(const SystemRoot& root) {
  if (const auto type = root.read("/sys/hypervisor/type"); type && !type->empty()) {
    return printable(*type);
  }
  const std::string dmi = root.read("/sys/class/dmi/id/sys_vendor").value_or("") + " " +
                          root.read("/sys/class/dmi/id/product_name").value_or("");
  struct DmiHint {
    const char* text;
    const char* hint;
  };
  for (const auto& [text, hint] :
       {DmiHint{"QEMU", "kvm"}, DmiHint{"KVM", "kvm"}, DmiHint{"Amazon EC2", "amazon ec2"},
        DmiHint{"Google", "google compute engine"}, DmiHint{"VMware", "vmware"},
        DmiHint{"VirtualBox", "virtualbox"}, DmiHint{"Xen", "xen"}}) {
    if (dmi.find(text) != std::string::npos) return hint;
  }
  if (dmi.find("Microsoft") != std::string::npos && dmi.find("Virtual") != std::string::npos) {
    return "hyper-v";
  }
  const std::string tree = root.read("/proc/device-tree/hypervisor/compatible").value_or("");
  if (tree.find("kvm") != std::string::npos) return "kvm";
  if (tree.find("xen") != std::string::npos) return "xen";
  const std::string flags =
      find_field(root.read("/proc/cpuinfo").value_or(""), "flags").value_or("");
  const std::vector<std::string> all = split(flags, ' ');
  if (std::find(all.begin(), all.end(), "hypervisor") != all.end() ||
      !root.list("/sys/bus/virtio/devices").empty()) {
    return "unknown hypervisor";
  }
  return "none";
}

}  // namespace

std::vector<int> allowed_cpus(const SystemRoot& root) {
  auto cpus = read_affinity(root);
  const auto online = read_id_list(root, std::string(kCpuFolder) + "/online");
  if (!cpus) return online.value_or({0});
  if (!online) return *cpus;
  // The mask may name cores that do not exist (kernels print all bits they have).
  std::vector<int> both;
  std::set_intersection(cpus->begin(), cpus->end(), online->begin(), online->end(),
                        std::back_inserter(both));
  return both.empty() ? *online : both;
}

Cores read_cores(const SystemRoot& root, const CgroupLimits& limits) {
  Cores cores;
  cores.visible = count_online(root);
  const auto affinity = read_affinity(root);
  if (affinity) {
    const std::vector<int> cpus = allowed_cpus(root);
    cores.affinity = format_id_list(cpus);
    cores.in_affinity = static_cast<std::int64_t>(cpus.size());
  } else {
    cores.affinity = Known<std::string>::unknown(affinity.reason);
    cores.in_affinity = Known<std::int64_t>::unknown(affinity.reason);
  }
  cores.quota = limits.quota_cores;
  std::int64_t usable = cores.in_affinity.value_or(cores.visible.value_or(1));
  if (cores.visible) usable = std::min(usable, *cores.visible);
  if (cores.quota && *cores.quota < static_cast<double>(usable)) {
    usable = static_cast<std::int64_t>(*cores.quota);  // rounded down, as usable_cores() of core
  }
  cores.usable = std::max<std::int64_t>(usable, 1);
  cores.smt = as_switch(root.read_int(std::string(kCpuFolder) + "/smt/active"), 1);
  const auto nodes = read_id_list(root, "/sys/devices/system/node/online");
  cores.numa_nodes = nodes ? Known<std::int64_t>(static_cast<std::int64_t>(nodes->size()))
                           : Known<std::int64_t>::unknown(nodes.reason);
  return cores;
}

Frequency read_frequency(const SystemRoot& root) {
  Frequency frequency;
  const std::vector<int> cpus = allowed_cpus(root);
  std::set<std::string> governors;
  for (const int cpu : cpus) {
    const auto text = root.read(fmt::format("{}/cpu{}/cpufreq/scaling_governor", kCpuFolder, cpu));
    if (text && !text->empty()) governors.insert(printable(*text));
  }
  const std::string base = fmt::format("{}/cpu{}/cpufreq", kCpuFolder, cpus.front());
  if (governors.size() == 1) {
    frequency.governor = *governors.begin();
  } else if (governors.empty()) {
    frequency.governor = Known<std::string>::unknown(
        base + "/scaling_governor is absent: the kernel does not control the frequency here");
  } else {
    frequency.governor = "mixed: " + join({governors.begin(), governors.end()});
  }
  frequency.driver = root.read(base + "/scaling_driver");
  frequency.min_khz = root.read_int(base + "/scaling_min_freq");
  frequency.max_khz = root.read_int(base + "/scaling_max_freq");
  frequency.turbo = as_switch(root.read_int(std::string(kCpuFolder) + "/intel_pstate/no_turbo"), 0);
  if (!frequency.turbo) {
    frequency.turbo = as_switch(root.read_int(std::string(kCpuFolder) + "/cpufreq/boost"), 1);
  }
  return frequency;
}

Memory read_memory(const SystemRoot& root, const CgroupLimits& limits) {
  const auto text = root.read("/proc/meminfo");
  Memory memory;
  memory.total_bytes = meminfo_bytes(text, "MemTotal");
  memory.available_bytes = meminfo_bytes(text, "MemAvailable");
  memory.swap_total_bytes = meminfo_bytes(text, "SwapTotal");
  memory.swap_free_bytes = meminfo_bytes(text, "SwapFree");
  memory.cgroup_limit_bytes = limits.memory_bytes;
  return memory;
}

Host read_host(const SystemRoot& root) {
  Host host;
  host.kernel = root.read("/proc/sys/kernel/osrelease");
  if (host.kernel) host.kernel = printable(*host.kernel);
  auto release = root.read("/etc/os-release");
  if (!release) release = root.read("/usr/lib/os-release");
  host.distribution =
      Known<std::string>::unknown(release ? "os-release has no PRETTY_NAME" : release.reason);
  for (const std::string& line : split(release.value_or(""), '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string name = line.substr(12);
    name.erase(std::remove(name.begin(), name.end(), '"'), name.end());
    host.distribution = printable(name);
  }
  host.container = container_hint(root);
  host.virtualisation = virtualisation_hint(root);
  return host;
}

}  // namespace sluice::env
