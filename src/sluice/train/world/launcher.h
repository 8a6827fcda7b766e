// sluice/train/world/launcher.h - which rank of how many this process is, by the variables of
// whatever started it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <functional>
#include <optional>
#include <string>

namespace sluice::train {

enum class Launcher : std::uint8_t { none, srun, mpirun, torchrun };
const char* to_string(Launcher launcher);

struct LaunchedRank {
  Launcher launcher = Launcher::none;
  int rank = 0;
  int size = 1;
  int local_rank = 0;   // on its machine
  bool by_tcp = false;  // its launcher tells MPI nothing: torchrun, and srun without PMIx
};

/// The value of a variable; nothing: it is not set, or empty.
using Variables = std::function<std::optional<std::string>(const char* name)>;
Variables process_variables();
/// The value of variable `name`, from `low` to `high`; a usage error else.
Result<int> number_of(const char* name, const std::string& text, int low, int high);

/// srun may start mpirun or torchrun: theirs count then. Usage errors: a rank or size that is no
/// number or out of range, one without the other, and mpirun and torchrun that disagree.
Result<LaunchedRank> find_rank(const Variables& variables = process_variables());

}  // namespace sluice::train
