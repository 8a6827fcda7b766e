// sluice/cli/flags/world.h - how many ranks train together: the flags of `train` and `bench
// training`, and what launchers say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/train/world/launcher.h"
#include "sluice/train/world/world.h"

namespace sluice::cli {

/// --world-size with this description, and --rank-timeout.
void add_world_flags(CLI::App& command, int& world_size, double& rank_timeout_s,
                     const std::string& text);

/// Ranks of a launcher, or those that the flag asks for; -1 of it is one for each of `places`.
/// Usage errors: none, another number than was started, and nowhere to meet.
Result<int> world_size_of(int asked, const train::LaunchedRank& launched, int places);

/// For world_size_of(): where ranks would go, cores or GPUs from `gpu_index` on (-1: the CPU). Only
/// where the flag asks for as many as there are is a GPU looked at: Errc::usage without it.
Result<int> places_of_ranks(int asked, const train::LaunchedRank& launched, int gpu_index);

/// Whether `launched` is a rank of mpirun or srun, of several.
bool is_launched(const train::LaunchedRank& launched);

/// Of a rank but 0: it ends with rank 0, not by a signal, so that rank 0 can say who failed; and
/// says nothing that rank 0 says.
void become_follower();
/// Such a rank, to its end: `serve` does as rank 0 says.
Result<ExitCode> follow_rank_0(train::World& world, Status (*serve)(train::World& world));

}  // namespace sluice::cli
