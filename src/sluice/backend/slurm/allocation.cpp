// sluice/backend/slurm/allocation.cpp - a lane per node, each starting step after step.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/slurm/allocation.h"

#include "sluice/backend/cluster/command.h"
#include "sluice/backend/slurm/client.h"
#include "sluice/core/descriptor.h"
#include "sluice/core/file.h"
#include "sluice/core/process/child.h"
#include "sluice/core/process/process.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/measure/interrupt.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <thread>

namespace sluice::backend {
namespace {

Result<std::vector<std::string>> nodes_of_allocation(const std::string& search_path) {
  SLUICE_TRY(const std::string scontrol, find_command("scontrol", search_path));
  ChildOptions options;
  options.command = {scontrol, "show", "hostnames"};  // of SLURM_JOB_NODELIST
  options.stdout_apart = true;
  SLUICE_TRY(const ChildResult done, run_child(options));
  std::vector<std::string> nodes;
  for (const std::string& line : split(done.printed, '\n'))
    if (!trimmed(line).empty()) nodes.emplace_back(trimmed(line));
  if (done.status != 0 || nodes.empty())
    return Error{Errc::unsupported,
                 fmt::format("scontrol show hostnames: names no node of this allocation: {}",
                             printable(trimmed(done.output)))};
  return nodes;
}

/// One step, to its end; asked to end when the user is.
Status run_step(const std::vector<std::string>& command, const std::filesystem::path& log) {
  const Descriptor out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (out.get() < 0) return Error{Errc::io, fmt::format("{}: cannot be written", shown(log))};
  ProcessOptions options;
  options.command = without_lineage(command);
  options.descriptors = {{out.get(), 1}, {out.get(), 2}};
  SLUICE_TRY(const int code, run_to_end(options));
  (void)code;  // what it left undone is found when results are collected
  return ok;
}

}  // namespace

Status run_in_allocation(const ScriptContext& context, const std::string& type,
                         const std::vector<int>& tasks, const std::string& search_path,
                         Progress& progress) {
  if (tasks.empty()) return ok;
  SLUICE_TRY(const std::string srun, find_command("srun", search_path));
  SLUICE_TRY(const std::vector<std::string> nodes, nodes_of_allocation(search_path));
  SLUICE_CHECK(create_folders(context.out / "logs"));
  const measure::Interrupt interrupt;
  auto bar = progress.bar("tasks", tasks.size(), "tasks");
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t ended = 0;
  std::optional<Error> first;
  const auto lane = [&](const std::string& node) {
    for (std::size_t i = next++; i < tasks.size() && !stop_requested(); i = next++) {
      std::vector<std::string> command = {srun, "--nodes=1", "--ntasks=1", "--nodelist=" + node};
      for (std::string& word : task_command(context, type, tasks[i]))
        command.push_back(std::move(word));
      const Status done = run_step(
          command, context.out / "logs" /
                       fmt::format("{}-{}.out", array_name(*context.submission, type), tasks[i]));
      const std::lock_guard lock(mutex);
      if (!done && !first) first = done.error();
      bar.set(++ended);
    }
  };
  const std::size_t lanes = std::min(nodes.size(), tasks.size());
  std::vector<std::thread> threads;
  for (std::size_t n = 1; n < lanes; ++n)
    threads.emplace_back(lane, nodes[n]);
  lane(nodes.front());
  for (std::thread& thread : threads)
    thread.join();
  if (interrupt.requested()) return Error{Errc::interrupted, "interrupted"};
  if (first) return *first;
  return ok;
}

}  // namespace sluice::backend
