// sluice/train/world/open.cpp - which kind of world whose ranks need.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/open.h"

#include "sluice/train/world/mpi.h"
#include "sluice/train/world/tcp.h"

#include <optional>
#include <string_view>

namespace sluice::train {

Result<std::unique_ptr<World>> join_ranks(const LaunchedRank& launched,
                                          const WorldOptions& options) {
  std::unique_ptr<World> world;
  if (launched.by_tcp) {
    SLUICE_TRY(world, TcpWorld::join(launched, options));
  } else {
    SLUICE_TRY(world, MpiWorld::join(launched, options));
  }
  return world;
}

Result<std::unique_ptr<World>> start_ranks(int size, const std::string& device,
                                           const std::vector<std::string>& command,
                                           const WorldOptions& options) {
  std::unique_ptr<World> world;
  if (device == "cpu") {
    SLUICE_TRY(world, MpiWorld::start(size, command, options));
  } else {
    SLUICE_TRY(world, TcpWorld::start(size, command, options));
  }
  return world;
}

Result<std::unique_ptr<World>> join_starter(const WorldOptions& options) {
  // A launcher's variables are of the rank that started this one; it set those of torchrun.
  LaunchedRank launched;
  if (TcpWorld::started()) {
    const auto set_by_starter =
        [all = process_variables()](const char* name) -> std::optional<std::string> {
      const std::string_view word = name;
      const bool ours = word == "RANK" || word == "WORLD_SIZE" || word == "LOCAL_RANK";
      return ours ? all(name) : std::nullopt;
    };
    SLUICE_TRY(launched, find_rank(set_by_starter));
  }
  return join_ranks(launched, options);
}

}  // namespace sluice::train
