// sluice/train/world/launcher.cpp - the variables of srun, mpirun and torchrun.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/launcher.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>

namespace sluice::train {
namespace {

constexpr int kMostRanks = 1 << 20;

/// How a launcher says it. `only_with`: a variable without which the others mean something else.
struct Names {
  Launcher launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* only_with;
};
constexpr std::array<Names, 4> kLaunchers{{
    // A batch script has rank and size as well, of no one: only a step does the work.
    {Launcher::srun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_ID"},
    {Launcher::mpirun, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", nullptr},
    {Launcher::mpirun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     nullptr},
    {Launcher::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", nullptr},
}};

/// Nothing: this launcher did not start us.
Result<std::optional<LaunchedRank>> read(const Names& names, const Variables& variables) {
  const auto rank = variables(names.rank);
  const auto size = variables(names.size);
  if (names.only_with != nullptr && !variables(names.only_with))
    return std::optional<LaunchedRank>();
  if (!rank && !size) return std::optional<LaunchedRank>();
  if (!rank || !size)
    return Error{Errc::usage,
                 fmt::format("{} is set and {} is not; a launcher of ranks sets both",
                             rank ? names.rank : names.size, rank ? names.size : names.rank)};
  LaunchedRank found;
  found.launcher = names.launcher;
  SLUICE_TRY(found.size, number_of(names.size, *size, 1, kMostRanks));
  SLUICE_TRY(found.rank, number_of(names.rank, *rank, 0, found.size - 1));
  if (const auto local = variables(names.local_rank)) {
    SLUICE_TRY(found.local_rank, number_of(names.local_rank, *local, 0, found.size - 1));
  }
  return std::optional(found);
}

}  // namespace

Result<int> number_of(const char* name, const std::string& text, int low, int high) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < low || value > high)
    return Error{Errc::usage,
                 fmt::format("{} is {}; {} to {} are accepted", name, printable(text), low, high)};
  return value;
}

const char* to_string(Launcher launcher) {
  constexpr std::array<const char*, 4> kTexts{"none", "srun", "mpirun", "torchrun"};
  return kTexts[static_cast<std::size_t>(launcher)];
}

Variables process_variables() {
  return [](const char* name) -> std::optional<std::string> {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') return std::nullopt;
    return text;
  };
}

Result<LaunchedRank> find_rank(const Variables& variables) {
  LaunchedRank chosen;
  const Names* by = nullptr;
  for (const Names& names : kLaunchers) {
    SLUICE_TRY(const auto found, read(names, variables));
    if (!found) continue;
    const bool outer = by == nullptr || chosen.launcher == Launcher::srun;
    if (!outer && (found->rank != chosen.rank || found->size != chosen.size))
      return Error{
          Errc::usage,
          fmt::format("{} and {} say rank {} of {}, {} and {} say rank {} of {}; unset the "
                      "pair that is not meant",
                      by->rank, by->size, chosen.rank, chosen.size, names.rank, names.size,
                      found->rank, found->size)};
    chosen = *found;
    by = &names;
  }
  // srun --mpi=pmix; under pmi2 the variables of PMI were found, and counted as mpirun's.
  chosen.by_tcp = chosen.launcher == Launcher::torchrun ||
                  (chosen.launcher == Launcher::srun && !variables("PMIX_NAMESPACE"));
  return chosen;
}

}  // namespace sluice::train
