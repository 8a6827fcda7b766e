// sluice/cli/judge/ci.cpp - `sluice ci`: writes the workflow of a performance gate and its page.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/report/ci/files.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct CiFlags {
  report::CiOptions options;
  std::string provider = "github";
  std::string runner;
  fs::path out_dir = ".";
  bool print = false;
};

Result<report::CiOptions> options_of(const CiFlags& flags) {
  report::CiOptions options = flags.options;
  options.provider =
      flags.provider == "gitlab" ? report::CiProvider::gitlab : report::CiProvider::github;
  options.runner = split(flags.runner, ',');
  SLUICE_CHECK(check(options));
  return options;
}

Result<ExitCode> run_ci(const CiFlags& flags, const Globals& globals) {
  SLUICE_TRY(const report::CiOptions options, options_of(flags));
  const std::vector<report::CiFile> files = report::ci_files(options);
  if (flags.print) {
    print("{}", files.front().text);
    return ExitCode::done;
  }
  const fs::path root = globals.out.empty() ? flags.out_dir : globals.out;
  OutputFiles outputs(globals);
  std::vector<fs::path> paths;
  for (const report::CiFile& file : files)
    paths.push_back(root / file.path);
  SLUICE_CHECK(outputs.claim(paths, NamedBy::us, report::kCiMarker));
  Json written = Json::array();
  for (const report::CiFile& file : files) {
    const fs::path path = root / file.path;
    SLUICE_CHECK(outputs.write(path, file.text));
    written.push_back(path.string());
    if (!globals.json) print("{}\n", printable(path.string()));
  }
  if (globals.json) print("{}\n", dump_json(Json{{"files", std::move(written)}}));
  return ExitCode::done;
}

}  // namespace

void add_ci(CLI::App& root, Context& context) {
  auto [sub, flags] = add_command<CiFlags>(
      root, context, "ci", "Write the workflow of a performance gate, and its page", run_ci);
  report::CiOptions& options = flags.options;
  add_choice(sub, "--provider", flags.provider, {"github", "gitlab"}, "CI provider");
  sub.add_flag("--print", flags.print, "print the workflow instead of writing files");
  add_value(sub, "--runner", flags.runner, "LABELS",
            "labels of the runner, separated by commas; default: ubuntu-latest (GitLab: any)");
  add_value(sub, "--baseline-branch", options.baseline_branch, "NAME",
            "branch that pull requests go to and that holds the baselines")
      ->capture_default_str();
  add_value(sub, "--baseline-dir", options.baseline_dir, "DIR", "folder of the baselines")
      ->capture_default_str();
  add_value(sub, "--build", options.build, "CMD", "command that builds the program on the runner")
      ->capture_default_str();
  add_value(sub, "--program", options.program, "PATH", "how the steps call sluice")
      ->capture_default_str();
  add_value(sub, "--gate-flags", options.gate_flags, "FLAGS",
            "flags of sluice gate, which say what is measured")
      ->capture_default_str();
  add_number(sub, "--artifact-days", options.artifact_days, 1, 400, "days to keep artifacts");
  add_number(sub, "--timeout-minutes", options.timeout_minutes, 1, 1440,
             "time limit of a job, in minutes");
  add_value(sub, "--out-dir", flags.out_dir, "DIR", "root of the repository")
      ->capture_default_str();
  add_force_flag(sub, context.globals);
  add_examples(sub, {"sluice ci --provider github --print",
                     "sluice ci --provider github --runner self-hosted,gpu",
                     "sluice ci --provider gitlab --baseline-branch trunk"});
}

}  // namespace sluice::cli
