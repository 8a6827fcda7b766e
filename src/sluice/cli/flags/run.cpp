// sluice/cli/flags/run.cpp - flags over a run configuration.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/run.h"

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
  if (names.empty()) return Error{Errc::usage, fmt::format("{}: expected at least one name", flag)};
  return names;
}

}  // namespace

void add_run_flags(CLI::App& command, RunFlags& flags) {
  plan::Overrides& over = flags.overrides;
  add_value(command, "--config", flags.config, "FILE", "run configuration (docs/run-config.md)")
      ->required();
  add_value(command, "--data-dir", over.data_dir, "DIR", "folder of media files");
  command.add_option("--num-items", over.num_items, "images or clips to use")
      ->check(CLI::Range(std::int64_t{1}, plan::kMaxItems));
  command.add_option("--num-runs", over.num_runs, "fresh processes per row")
      ->check(CLI::Range(std::int64_t{1}, plan::kMaxRuns));
  add_value(command, "--device", over.device, "{none,cuda,auto}", "device that transforms run on");
  command.add_option("--workers", over.workers, "loader processes, in pipeline mode")
      ->check(CLI::Range(std::int64_t{0}, plan::kMaxWorkers));
  command.add_option("--batch-size", over.batch_size, "items per batch, in pipeline mode")
      ->check(CLI::Range(std::int64_t{1}, plan::kMaxBatch));
  add_value(command, "--libraries", flags.libraries, "NAME,NAME",
            "libraries or decoders to measure");
  add_value(command, "--transforms", flags.transforms, "NAME,NAME", "transforms to measure");
  add_value(command, "--transform-set", over.transform_set, "{paper}",
            "measure the whole transform set of the scenario");
  add_value(command, "--set", over.set, "KEY.PATH=VALUE",
            "set any key of the configuration; may be repeated")
      ->allow_extra_args(false);
  command.add_flag("--allow-generated", over.allow_generated,
                   "make images or clips here where the configuration names a data set that is "
                   "not on this machine");
  command.add_flag("--local", over.local,
                   "ignore the cloud section of the configuration and run here");
}

void add_backend_flags(CLI::App& command, RunFlags& flags) {
  add_value(command, "--backend", flags.backend, "{local,slurm,k8s,gcp}",
            "where to measure; default: here, or where the configuration's cloud section says")
      ->check(CLI::IsMember({"local", "slurm", "k8s", "gcp"}));
  command.add_flag("--dry-run", flags.dry_run,
                   "on a cluster: print scripts or manifest, and submit nothing");
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
