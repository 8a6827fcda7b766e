// sluice/cli/flags/run.cpp - flags over a run configuration.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/run.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

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
  command
      .add_option_function<std::vector<std::filesystem::path>>(
          "--config",
          [&flags](const std::vector<std::filesystem::path>& files) {
            flags.configs = files;
            flags.config = files.front();
          },
          "run configuration (docs/run-config.md); in the cloud it may be repeated, or be a folder "
          "of them")
      ->type_name("FILE")
      ->allow_extra_args(false)
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
  begin_group(command, "Where it runs");
  add_value(
      command, "--backend", flags.backend, "{local,slurm,k8s,gcp}",
      "machine that measures; default: gcp where the configuration has a cloud.provider, else "
      "local");
  command.add_flag("--dry-run", flags.dry_run,
                   "show what would be done on other machines; makes nothing");
  auto* attached = command.add_flag("--attached", flags.attached,
                                    "gcp: wait for the machines, pull, validate and delete");
  command
      .add_flag("--detached", flags.detached,
                "gcp: start the machines of a wave and leave; they delete themselves, --resume "
                "collects")
      ->excludes(attached);
  add_value(
      command, "--bundle", flags.bundles, "FILE",
      "gcp: archive with the program, as `make dist` writes it; may be repeated, unpacked one "
      "over the other")
      ->allow_extra_args(false);
  add_value(command, "--quota", flags.quota, "KEY=N,KEY=N",
            "gcp: what may exist at one time; default: vcpus=128,c4_vcpus=96,gpus=1,disk_gb=500");
  add_value(command, "--zones", flags.zones, "ZONE,ZONE",
            "gcp: zones to ask where the configuration's has no machine left");
}

Result<std::string> chosen_backend(const RunFlags& flags, const Globals& globals) {
  const std::vector<std::string> known = {"local", "slurm", "k8s", "gcp"};
  std::string backend = flags.backend;
  if (!backend.empty() && std::find(known.begin(), known.end(), backend) == known.end()) {
    return usage_error(
        fmt::format("--backend '{}': is not one of {}", printable(backend), join(known)));
  }
  if (flags.overrides.local && !backend.empty() && backend != "local")
    return usage_error(fmt::format("--local and --backend {}: give only one", backend));
  if (flags.overrides.local) backend = "local";
  std::error_code ignored;
  const bool several =
      flags.configs.size() > 1 || std::filesystem::is_directory(flags.config, ignored);
  if (several && backend.empty()) backend = "gcp";
  if (several && backend != "gcp") {
    return usage_error(fmt::format(
        "--config: {} runs one configuration at a time; --backend gcp takes several", backend));
  }
  if (!backend.empty()) return backend;
  SLUICE_TRY(const plan::RunConfig config, load_config(flags, globals));
  return std::string(config.on_cloud() ? "gcp" : "local");
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
