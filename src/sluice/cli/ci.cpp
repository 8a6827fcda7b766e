// sluice/cli/ci.cpp - `sluice ci`: writes the workflow of a performance gate and its page.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
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
  bool force = false;
};

Result<report::CiOptions> options_of(const CiFlags& flags) {
  report::CiOptions options = flags.options;
  options.provider =
      flags.provider == "gitlab" ? report::CiProvider::gitlab : report::CiProvider::github;
  options.runner = split(flags.runner, ',');
  SLUICE_CHECK(check(options));
  return options;
}

/// Nothing is overwritten that was not written here.
Status check_writable(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(fs::symlink_status(path, code))) return ok;
  const auto text = read_text_file(path);
  if (text && text->find(report::kCiMarker) != std::string::npos) return ok;
  return Error{Errc::usage,
               fmt::format("{}: exists and was not written by sluice ci; --force overwrites it",
                           printable(path.string()))};
}

Result<ExitCode> run_ci(const CiFlags& flags, const Globals& globals) {
  SLUICE_TRY(const report::CiOptions options, options_of(flags));
  const std::vector<report::CiFile> files = report::ci_files(options);
  if (flags.print) {
    fmt::print("{}", files.front().text);
    return ExitCode::done;
  }
  const fs::path root = globals.out.empty() ? flags.out_dir : globals.out;
  if (!flags.force) {
    for (const report::CiFile& file : files)
      SLUICE_CHECK(check_writable(root / file.path));
  }
  Json written = Json::array();
  for (const report::CiFile& file : files) {
    const fs::path path = root / file.path;
    SLUICE_CHECK(create_folders(path.parent_path()));
    SLUICE_CHECK(write_file_atomic(path, file.text));
    written.push_back(path.string());
    if (!globals.json) fmt::print("{}\n", printable(path.string()));
  }
  if (globals.json) fmt::print("{}\n", dump_json(Json{{"files", std::move(written)}}));
  return ExitCode::done;
}

}  // namespace

void add_ci(CLI::App& root, Context& context) {
  auto flags = std::make_shared<CiFlags>();
  CLI::App* sub =
      add_command(root, context, "ci", "Write the workflow of a performance gate, and its page",
                  [flags, &context] { return run_ci(*flags, context.globals); });
  report::CiOptions& options = flags->options;
  add_choice(*sub, "--provider", flags->provider, {"github", "gitlab"}, "CI provider");
  sub->add_flag("--print", flags->print, "print the workflow instead of writing files");
  add_value(*sub, "--runner", flags->runner, "LABELS",
            "labels of the runner, separated by commas; default: ubuntu-latest (GitLab: any)");
  add_value(*sub, "--baseline-branch", options.baseline_branch, "NAME",
            "branch that pull requests go to and that holds the baselines")
      ->capture_default_str();
  add_value(*sub, "--baseline-dir", options.baseline_dir, "DIR", "folder of the baselines")
      ->capture_default_str();
  add_value(*sub, "--build", options.build, "CMD", "command that builds the program on the runner")
      ->capture_default_str();
  add_value(*sub, "--program", options.program, "PATH", "how the steps call sluice")
      ->capture_default_str();
  add_value(*sub, "--gate-flags", options.gate_flags, "FLAGS",
            "flags of sluice gate, which say what is measured")
      ->capture_default_str();
  add_number(*sub, "--artifact-days", options.artifact_days, 1, 400, "days to keep artifacts");
  add_number(*sub, "--timeout-minutes", options.timeout_minutes, 1, 1440,
             "time limit of a job, in minutes");
  add_value(*sub, "--out-dir", flags->out_dir, "DIR", "root of the repository")
      ->capture_default_str();
  sub->add_flag("--force", flags->force, "overwrite files that sluice ci did not write");
  add_examples(*sub, {"sluice ci --provider github --print",
                      "sluice ci --provider github --runner self-hosted,gpu",
                      "sluice ci --provider gitlab --baseline-branch trunk"});
}

}  // namespace sluice::cli
