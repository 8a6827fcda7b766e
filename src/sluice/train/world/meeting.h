// sluice/train/world/meeting.h - where ranks meet rank 0 by TCP, by the variables of torchrun, srun
// or a process of ours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/launcher.h"

#include <string>
#include <string_view>

namespace sluice::train {

/// Names of what TcpWorld::start() tells the ranks that it starts.
inline constexpr const char* kWorldPort = "SLUICE_WORLD_PORT";
inline constexpr const char* kWorldKey = "SLUICE_WORLD_KEY";

struct Meeting {
  std::string address;  // of rank 0: a number, or the name of its machine
  int port = 0;
  std::string key;  // of this world, and of no other that may call by mistake
};

/// MASTER_ADDR, and SLUICE_WORLD_PORT or the port after MASTER_PORT, where torchrun listens itself.
/// What is not set follows under srun from the step: its first node, and a port by the numbers of
/// job and step. Usage errors: one that is missing or wrong; rank 0 on another node than the first.
Result<Meeting> meeting_of(const LaunchedRank& launched, const Variables& variables);

/// The first of a list as Slurm writes it: "gpu[07-09,12],cpu3" is "gpu07". Usage error: it is
/// none.
Result<std::string> first_host(std::string_view list);

}  // namespace sluice::train
