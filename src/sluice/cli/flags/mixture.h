// sluice/cli/flags/mixture.h - the flags of `sluice bench mixture`, and the plan they come to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/measure/policy.h"
#include "sluice/report/mixture/svg.h"
#include "sluice/scenario/mixture/spec.h"
#include "sluice/visit/mixture/plan.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::cli {

/// As typed; the values are the defaults.
struct MixtureFlags {
  std::string gpu;
  scenario::MixtureSpec spec;
  std::string metadata = "full";
  std::string mix = "deficit";
  std::string on_error = "skip";
  std::string sleep = "0";
  std::string cpus;
  bool prime = false;
  bool validate = false;
  std::vector<std::string> weights, parallelisms;  // "rt1=2"
  std::vector<std::string> skips;                  // "droid", "droid,kuka"
  std::filesystem::path datasets;                  // YAML with overrides; empty: none
  std::vector<std::uint64_t> seeds;                // empty: one
  std::string libraries = "sluice";
  int runs = 1;
  report::MixtureDrawing drawing;
};

void add_mixture_flags(CLI::App& command, MixtureFlags& flags);

/// Threads that decode on so many cores where no flag says how many: all of them. On few cores they
/// are more, so that a long frame holds up less.
int decoders_of(std::size_t cores);

/// Everything is checked that can be without the data. Flags come after the file of --datasets.
Result<visit::MixturePlan> mixture_plan(const MixtureFlags& flags, const Globals& globals);

/// "rt1: {weight: 2}", "droid: {skip: true}" below `datasets`.
Result<std::vector<scenario::DatasetOverride>> read_dataset_overrides(
    const std::filesystem::path& path);

}  // namespace sluice::cli
