// sluice/cli/local_run.cpp - flags to options, reports, and the exit code of a run on this machine.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/local_run.h"

#include "sluice/core/file.h"
#include "sluice/measure/cpu_list.h"
#include "sluice/peers/places.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::cli {

void add_local_flags(CLI::App& command, LocalFlags& flags) {
  add_sampling_flags(command, flags);
  command.add_option("--cpus", flags.cpus, "cores that the workers may use, such as 0-3,6");
}

Result<backend::LocalOptions> local_options(const Context& context, const LocalFlags& flags,
                                            const std::filesystem::path& out,
                                            const std::string& name) {
  if (flags.resume && out.empty())
    return Error{Errc::usage, "--resume: needs --out DIR, the folder of the run to continue"};
  SLUICE_TRY(const peers::Places places, peers::find_places());
  backend::LocalOptions options;
  options.out = out;
  options.name = name;
  options.resume = flags.resume;
  options.min_sample_ms = flags.sample_ms;
  options.warmup_ms = flags.warmup_ms;
  options.step_timeout_s = flags.timeout_s;
  if (!flags.cpus.empty()) {
    SLUICE_TRY(options.cpus, measure::parse_cpu_list(flags.cpus));
  }
  options.argv = context.globals.argv;
  if (!places.adapters.empty()) options.semantics = places.adapters / "semantics.json";
  return options;
}

Status write_reports(const backend::LocalResult& run) {
  SLUICE_CHECK(write_file_atomic(run.folder / "report.md", report::markdown(run.files)));
  return write_file_atomic(run.folder / "report.html", report::html(run.files));
}

Result<ExitCode> ending_of(const backend::LocalResult& run) {
  if (run.interrupted) {
    return Error{
        Errc::interrupted,
        fmt::format("interrupted; finished cases are kept, continue with --out {} --resume",
                    run.folder.string())};
  }
  const bool failed = std::any_of(run.files.begin(), run.files.end(), [](const auto& file) {
    return exit_code_of(file) == ExitCode::invalid;
  });
  return failed ? ExitCode::invalid : ExitCode::done;
}

}  // namespace sluice::cli
