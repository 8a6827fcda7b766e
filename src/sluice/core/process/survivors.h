// sluice/core/process/survivors.h - what a program started and left running when it ended: found,
// waited for, killed, named.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice {

/// Says whose offspring a process is, however far it went (`setsid`, a double fork): every program
/// that we start has its own value of it, which what it starts inherits.
inline constexpr const char* kLineageVariable = "SLUICE_LINEAGE";
std::string new_lineage();

/// From now on whatever a program of ours leaves behind becomes our child, and is known as left
/// behind even where it has cleared its environment. For a program that is ours alone: one that
/// embeds us has children of its own. Children that are there already are never touched.
void adopt_orphans();
/// Neither are those that are there now: a library started them, which ends them itself.
void spare_children();

/// The programs that run now; those of one are never taken for another's.
void note_started(pid_t leader, const std::string& lineage);
void note_ended(pid_t leader);

struct Survivors {
  bool any = false;                   // something still ran when the leader had ended
  std::vector<std::string> killed{};  // by name: "sleep (pid 123)"
};
/// `leader` has ended, and was not waited for yet. What it left is given `grace_s` to end by
/// itself; the rest is killed.
Survivors end_survivors(pid_t leader, const std::string& lineage, double grace_s);

/// Whether there is such a process, and it has not ended.
bool is_running(pid_t pid);
/// Whether `pid` was started, however indirectly, by `ancestor`, and both still run.
bool descends_from(pid_t pid, pid_t ancestor);

}  // namespace sluice
