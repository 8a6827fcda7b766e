// sluice/cli/flags/world.cpp - flags and variables of ranks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/world.h"

#include "sluice/core/log.h"
#include "sluice/core/thread_pool.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/world/meeting.h"

#include <fmt/format.h>

#include <csignal>

namespace sluice::cli {

void add_world_flags(CLI::App& command, int& world_size, double& rank_timeout_s,
                     const std::string& text) {
  command.add_option("--world-size", world_size, text)->check(CLI::Range(-1, 1024));
  command
      .add_option("--rank-timeout", rank_timeout_s,
                  "seconds to wait for the slowest rank of a step")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
}

Result<int> world_size_of(int asked, const train::LaunchedRank& launched, int places) {
  if (asked == 0)
    return usage_error("--world-size 0: 1 to 1024, or -1 for one rank a core or GPU, are accepted");
  if (launched.size > 1 && asked > 1 && asked != launched.size)
    return usage_error(fmt::format("--world-size {}: {} started {} ranks", asked,
                                   to_string(launched.launcher), launched.size));
  if (launched.size > 1 && launched.by_tcp)  // before anything is written
    SLUICE_CHECK(train::meeting_of(launched, train::process_variables()));
  if (launched.size > 1) return launched.size;
  return asked == -1 ? places : asked;
}

Result<int> places_of_ranks(int asked, const train::LaunchedRank& launched, int gpu_index) {
  if (gpu_index < 0 || asked != -1 || launched.size > 1) return static_cast<int>(usable_cores());
  SLUICE_CHECK(train::cuda::device_facts(gpu_index));
  SLUICE_TRY(const int gpus, train::cuda::device_count());
  return gpus - gpu_index;
}

bool is_launched(const train::LaunchedRank& launched) {
  return launched.size > 1 && launched.launcher != train::Launcher::torchrun;
}

void become_follower() {
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  log::set_level(log::Level::error);
}

Result<ExitCode> follow_rank_0(train::World& world, Status (*serve)(train::World& world)) {
  const Status served = serve(world);
  if (served) return ExitCode::done;
  world.give_up(served.error());
  if (world.is_spoken_for()) return exit_code_of(served.error().code);
  return served.error();
}

}  // namespace sluice::cli
