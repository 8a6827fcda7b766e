// sluice/train/world/rank_process.h - is the process of another rank still there?
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sluice::train {

/// Plain numbers: ranks send them to each other.
struct RankProcess {
  std::uint64_t machine = 0;  // of its kernel and its table of processes; 0: not known
  std::int64_t pid = 0;
  std::int64_t started = 0;  // ticks since the machine did: a number is given to others later
};
RankProcess process_of(std::int64_t pid);
RankProcess this_process();

enum class ProcessState : std::uint8_t {
  unknown,  // on another machine
  running,
  stopped,  // by a signal
  gone,
};
ProcessState state_of(const RankProcess& process);

}  // namespace sluice::train
