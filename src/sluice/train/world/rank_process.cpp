// sluice/train/world/rank_process.cpp - processes as /proc shows them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/rank_process.h"

#include "sluice/core/file.h"
#include "sluice/core/sha256.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <unistd.h>

namespace sluice::train {
namespace {

struct ProcessLine {
  char state = 'X';
  std::int64_t started = 0;
};

/// Nothing: there is no such process.
std::optional<ProcessLine> process_line(std::int64_t pid) {
  const auto text = read_text_file(fmt::format("/proc/{}/stat", pid), 1 << 16);
  if (!text) return std::nullopt;
  // "PID (NAME) STATE ..."; a name may hold anything. The state is field 3, the start field 22.
  std::size_t at = text->rfind(')');
  if (at == std::string::npos || at + 2 >= text->size()) return std::nullopt;
  ProcessLine line;
  line.state = (*text)[at + 2];
  ++at;
  for (int field = 3; field < 22 && at != std::string::npos; ++field)
    at = text->find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  line.started = std::strtoll(text->c_str() + at, nullptr, 10);
  return line;
}

/// Processes have numbers of their own in every container.
std::uint64_t this_machine() {
  const auto boot = read_text_file("/proc/sys/kernel/random/boot_id", 4096);
  std::array<char, 256> space{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  if (!boot || length <= 0) return 0;
  const std::string both = *boot + std::string(space.data(), static_cast<std::size_t>(length));
  return std::strtoull(sha256_hex(both).substr(0, 16).c_str(), nullptr, 16);
}

}  // namespace

RankProcess process_of(std::int64_t pid) {
  const auto line = process_line(pid);
  if (!line) return {};
  return {this_machine(), pid, line->started};
}

RankProcess this_process() {
  return process_of(::getpid());
}

ProcessState state_of(const RankProcess& process) {
  static const std::uint64_t machine = this_machine();
  if (process.machine == 0 || process.machine != machine) return ProcessState::unknown;
  const auto line = process_line(process.pid);
  if (!line || line->started != process.started) return ProcessState::gone;
  if (line->state == 'Z' || line->state == 'X') return ProcessState::gone;
  return line->state == 'T' ? ProcessState::stopped : ProcessState::running;
}

}  // namespace sluice::train
