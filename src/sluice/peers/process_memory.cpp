// sluice/peers/process_memory.cpp - reads /proc/<pid>/status; writes 5 to clear_refs, which resets
// the peak.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/process_memory.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace sluice::peers {
namespace {

std::optional<std::int64_t> status_kib(std::int64_t pid, const std::string& key) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  std::string word;
  while (in >> word) {
    std::int64_t value = 0;
    if (word == key && in >> value) return value * 1024;
    std::getline(in, word);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> private_bytes(std::int64_t pid) {
  return status_kib(pid, "RssAnon:");
}

bool reset_peak(std::int64_t pid) {
  std::ofstream out(fmt::format("/proc/{}/clear_refs", pid));
  out << "5\n";
  return static_cast<bool>(out.flush());
}

std::optional<std::int64_t> peak_bytes(std::int64_t pid) {
  return status_kib(pid, "VmHWM:");
}

}  // namespace sluice::peers
