// sluice/backend/slurm/client.h - the programs of Slurm that are called: sbatch, squeue, scancel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::backend {

/// A job, or a task of an array, that waits or runs.
struct QueuedJob {
  std::string id;           // of the job; of an array that of the whole
  std::optional<int> task;  // of an array
  std::string name;
};

class SlurmClient {
 public:
  /// Errc::unsupported, naming the first program that is not in `search_path`.
  static Result<SlurmClient> find(const std::string& search_path);

  /// The id of the job. `command` is that of sbatch_command().
  [[nodiscard]] Result<std::string> submit(std::vector<std::string> command) const;
  /// Jobs of these names that wait or run; those that are just ending are not among them.
  [[nodiscard]] Result<std::vector<QueuedJob>> queued(const std::vector<std::string>& names) const;
  [[nodiscard]] Status cancel(const std::string& id) const;

 private:
  std::string sbatch_, squeue_, scancel_;
};

/// A job inherits the environment of what submitted it. Where it begins on this machine it must not
/// count as something that the submitting program left running, which we would end.
std::vector<std::string> without_lineage(std::vector<std::string> command);

/// Whether this process is inside an allocation, where `srun` starts steps and nothing is queued.
bool in_allocation();

}  // namespace sluice::backend
