// sluice/cli/peers/audit.cpp - `sluice peers audit`: do the libraries compute the same thing?
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/media.h"
#include "sluice/backend/members.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/peers/peers.h"
#include "sluice/cli/print.h"
#include "sluice/config/parse.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/image/inputs/shared_inputs.h"
#include "sluice/measure/local_runner.h"
#include "sluice/peers/auditor.h"
#include "sluice/plan/jobs.h"

#include <fmt/format.h>

#include <memory>
#include <unistd.h>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct AuditFlags {
  std::vector<std::string> scenarios = {"image-rgb", "image-9ch", "video-16f"};
  std::vector<std::string> libraries;
  std::vector<std::string> transforms;
  std::string data_dir;
  int items = 2;
  int draws = 16;
};

/// Every library of the scenario that has micro rows, and all its transforms.
Result<plan::Plan> plan_of(const AuditFlags& flags, const std::string& scenario) {
  const std::string text = fmt::format(
      "selection: {{scenario: {}, mode: micro, transform_set: paper}}\ndata: {{num_items: {}}}\n",
      scenario, flags.items);
  SLUICE_TRY(const config::Node document, config::parse(text, "audit"));
  plan::Overrides overrides;
  if (!flags.libraries.empty()) overrides.libraries = flags.libraries;
  if (!flags.transforms.empty()) overrides.transforms = flags.transforms;
  if (!flags.data_dir.empty()) overrides.data_dir = flags.data_dir;
  SLUICE_TRY(const plan::RunConfig config, plan::read_run_config(document, overrides));
  return plan::make_plan(config);
}

peers::Picture picture_of(const image::ImageView<std::uint8_t>& view) {
  peers::Picture picture{view.height(), view.width(), view.channels(), {}};
  for (int y = 0; y < view.height(); ++y) {
    for (int x = 0; x < view.width(); ++x) {
      for (int c = 0; c < view.channels(); ++c)
        picture.values.push_back(view.at(x, y, c));
    }
  }
  return picture;
}

Result<Json> audit_scenario(const Context& context, const AuditFlags& flags,
                            const std::string& scenario, const fs::path& scratch,
                            const measure::RunnerContext& runner) {
  SLUICE_TRY(const plan::Plan plan, plan_of(flags, scenario));
  SLUICE_TRY(const backend::Media media,
             backend::prepare_media(plan.config, scratch / scenario, *context.globals.progress));
  SLUICE_TRY(const auto mapped,
             image::MappedInputs::open(media.load.inputs.index, media.load.inputs.data));

  peers::AuditOptions options;
  options.members = backend::members_of(plan);
  for (std::size_t c = 0; c < plan.jobs.front().cases.size(); ++c)
    options.cases.push_back(backend::crew_case_of(plan, c));
  options.load = media.load;
  for (std::size_t i = 0; i < mapped.size(); ++i)
    options.inputs.push_back(picture_of(mapped.view(i)));
  options.draws = flags.draws;
  options.seed = context.globals.seed;
  options.folder = scratch;
  SLUICE_TRY(const auto found, peers::run_audit(options, runner));
  Json transforms = Json::object();
  for (const plan::Case& one : plan.jobs.front().cases) {
    if (const auto agreement = found.find(one.transform); agreement != found.end())
      transforms[one.transform] = peers::to_json(agreement->second);
  }
  return transforms;
}

Result<ExitCode> audit(Context& context, const AuditFlags& flags) {
  const fs::path& out = context.globals.out;
  OutputFiles files(context.globals);
  if (!out.empty()) SLUICE_CHECK(files.claim({out}, NamedBy::user));
  const FolderGuard scratch(fs::temp_directory_path() / fmt::format("sluice-audit-{}", getpid()));
  SLUICE_CHECK(create_folders(scratch.path()));
  measure::LocalRunner local;
  SLUICE_TRY(const measure::RunnerContext runner, local.context(*context.globals.progress, "", ""));
  Json scenarios = Json::object();
  for (const std::string& scenario : flags.scenarios) {
    SLUICE_TRY(scenarios[scenario],
               audit_scenario(context, flags, scenario, scratch.path(), runner));
  }
  const Json document{
      {"pictures", fmt::format("{} {} (of clips the first frame)", flags.items,
                               flags.data_dir.empty() ? "generated photographs" : "photographs")},
      {"draws", flags.draws},
      {"scenarios", std::move(scenarios)}};
  const std::string text = dump_json(document, 2) + "\n";
  if (!out.empty()) {
    SLUICE_CHECK(files.write(out, text));
  } else {
    print("{}", text);
  }
  return ExitCode::done;
}

}  // namespace

void add_peers_audit(CLI::App& peers, Context& context) {
  auto [command, flags] = add_command<AuditFlags>(
      peers, context, "audit",
      "Run the libraries on the same pictures, and say which compute the same", audit);
  command.add_option("--scenarios", flags.scenarios, "scenarios to compare")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--libraries", flags.libraries,
                  "libraries to compare; default: all of the scenario")
      ->delimiter(',');
  command
      .add_option("--transforms", flags.transforms, "transforms to compare; default: the whole set")
      ->delimiter(',');
  command.add_option("--data-dir", flags.data_dir,
                     "folder of images or clips to run them on; default: generated ones");
  add_number(command, "--items", flags.items, 1, 16, "number of pictures");
  add_number(command, "--draws", flags.draws, 2, 256, "outputs per picture and library");
  add_force_flag(command, context.globals);
  add_examples(command, {"sluice peers audit --out adapters/semantics.json",
                         "sluice peers audit --scenarios image-rgb --transforms Resize,Solarize"});
}

}  // namespace sluice::cli
