// sluice/cli/run_flags.cpp - flags over a run configuration.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/run_flags.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

Result<std::vector<std::string>> parse_names(const std::string& text, const char* flag) {
  std::vector<std::string> names = split(text, ',');
  for (const std::string& name : names) {
    if (name.empty()) {
      return Error{Errc::usage,
                   fmt::format("{} {}: an empty name in the list", flag, printable(text))};
    }
  }
  if (names.empty()) return Error{Errc::usage, fmt::format("{}: names no one", flag)};
  return names;
}

}  // namespace

void add_run_flags(CLI::App& command, RunFlags& flags) {
  plan::Overrides& over = flags.overrides;
  command.add_option("--config", flags.config, "the run configuration, see docs/run-config.md")
      ->type_name("FILE")
      ->required();
  command.add_option("--data-dir", over.data_dir, "folder of media files")->type_name("DIR");
  command.add_option("--num-items", over.num_items, "images or clips to use")
      ->check(CLI::Range(std::int64_t{1}, plan::kMaxItems));
  command.add_option("--num-runs", over.num_runs, "fresh processes per row")
      ->check(CLI::Range(std::int64_t{1}, plan::kMaxRuns));
  command.add_option("--device", over.device, "where transforms run")
      ->type_name("{none,cuda,mps,auto}");
  command.add_option("--workers", over.workers, "loader processes, pipeline mode")
      ->check(CLI::Range(std::int64_t{0}, plan::kMaxWorkers));
  command.add_option("--batch-size", over.batch_size, "items of a batch, pipeline mode")
      ->check(CLI::Range(std::int64_t{1}, plan::kMaxBatch));
  command.add_option("--libraries", flags.libraries, "libraries to measure (or decoders)")
      ->type_name("NAME,NAME");
  command.add_option("--transforms", flags.transforms, "transforms to measure")
      ->type_name("NAME,NAME");
  command.add_option("--transform-set", over.transform_set, "the whole set of the scenario")
      ->type_name("{paper}");
  command.add_option("--set", over.set, "any key of the configuration; may be repeated")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--local", over.local, "leave out the cloud section: run here");
}

Result<plan::RunConfig> load_config(const RunFlags& flags, const Globals& globals) {
  plan::Overrides over = flags.overrides;
  if (!flags.libraries.empty()) {
    SLUICE_TRY(over.libraries, parse_names(flags.libraries, "--libraries"));
  }
  if (!flags.transforms.empty()) {
    SLUICE_TRY(over.transforms, parse_names(flags.transforms, "--transforms"));
  }
  if (!globals.out.empty()) over.output = globals.out.string();
  if (globals.seed_given) over.seed = globals.seed;
  return plan::load_run_config(flags.config, over);
}

}  // namespace sluice::cli
