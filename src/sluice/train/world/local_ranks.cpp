// sluice/train/world/local_ranks.cpp - variables of launchers, affinities of those who started us.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/local_ranks.h"

#include "sluice/core/file.h"
#include "sluice/core/thread_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <sched.h>
#include <unistd.h>

namespace sluice::train {
namespace {

/// Of torchrun, Open MPI, MPICH, srun: "8(x2),4" is 8 on the first node.
constexpr std::array<const char*, 3> kLocalSizes{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                                 "LOCAL_WORLD_SIZE"};
constexpr const char* kTasksOfNodes = "SLURM_STEP_TASKS_PER_NODE";
constexpr const char* kCoresOfJob = "SLURM_CPUS_ON_NODE";
constexpr int kMostAncestors = 64;

/// The number that a text begins with; 0: none.
int leading_number(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::max(value, 0);
}

/// Of a process; 0: it is gone.
int affinity_of(pid_t pid) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(pid, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

/// 0: none, or of another container.
pid_t parent_of(pid_t pid) {
  const auto text = read_text_file(fmt::format("/proc/{}/stat", pid), 1 << 16);
  if (!text) return 0;
  const std::size_t name_end = text->rfind(')');  // "PID (NAME) STATE PARENT ..."
  if (name_end == std::string::npos || name_end + 4 >= text->size()) return 0;
  return static_cast<pid_t>(std::strtol(text->c_str() + name_end + 4, nullptr, 10));
}

}  // namespace

int local_ranks_of(const LaunchedRank& launched, const Variables& variables) {
  int local = 0;
  if (launched.launcher == Launcher::srun) {
    local = leading_number(variables(kTasksOfNodes).value_or(""));
  } else {
    for (const char* name : kLocalSizes)
      if (local == 0) local = leading_number(variables(name).value_or(""));
  }
  return local == 0 ? launched.size : std::min(local, launched.size);
}

RankCores rank_cores(const Variables& variables) {
  RankCores cores;
  cores.usable = static_cast<int>(usable_cores());
  cores.affinity = std::max(1, affinity_of(0));
  cores.node = leading_number(variables(kCoresOfJob).value_or(""));
  if (cores.node > 0) return cores;
  // Whoever bound this process has more cores than it, or an ancestor of both has.
  cores.node = cores.affinity;
  pid_t pid = ::getpid();
  for (int i = 0; i < kMostAncestors && pid > 1; ++i) {
    pid = parent_of(pid);
    if (pid > 0) cores.node = std::max(cores.node, affinity_of(pid));
  }
  return cores;
}

int threads_of_rank(const RankCores& cores, int local) {
  const int share = cores.usable < cores.affinity  // a quota, of all together
                        ? cores.usable / local
                        : std::min(cores.affinity, cores.node / local);
  return std::max(1, share);
}

}  // namespace sluice::train
