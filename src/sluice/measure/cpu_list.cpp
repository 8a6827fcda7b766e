// sluice/measure/cpu_list.cpp - parsing and applying sets of cores.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/cpu_list.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sched.h>

namespace sluice::measure {
namespace {

bool parse_int(std::string_view text, int& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size() && value >= 0 &&
         value < CPU_SETSIZE;
}

}  // namespace

CpuList allowed_cpus() {
  CpuList cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

Result<CpuList> parse_cpu_list(std::string_view text) {
  const CpuList allowed = allowed_cpus();
  const auto refuse = [&](std::string_view part) {
    return Error{
        Errc::usage,
        fmt::format(
            "--cpus {}: '{}' is not a core or range of cores of this machine; usable here: {}",
            printable(text), printable(part), to_string(allowed))};
  };
  CpuList cpus;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    int first = 0;
    int last = 0;
    const std::string_view view = part;
    if (!parse_int(view.substr(0, dash), first)) return refuse(part);
    last = first;
    if (dash != std::string::npos && !parse_int(view.substr(dash + 1), last)) return refuse(part);
    if (last < first) return refuse(part);
    for (int cpu = first; cpu <= last; ++cpu) {
      if (!std::binary_search(allowed.begin(), allowed.end(), cpu)) return refuse(part);
      cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) return refuse(text);
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string to_string(const CpuList& cpus) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1)
      ++j;
    parts.push_back(i == j ? std::to_string(cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[j]));
    i = j + 1;
  }
  return join(parts, ",");
}

CpuList without(const CpuList& all, const CpuList& taken) {
  CpuList rest;
  std::set_difference(all.begin(), all.end(), taken.begin(), taken.end(), std::back_inserter(rest));
  return rest;
}

bool pin_to(const CpuList& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
    CPU_SET(static_cast<unsigned>(cpu), &set);
  }
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace sluice::measure
