// sluice/cli/expected_tables.cpp - expected rows out of plans.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/expected_tables.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

using plan::Mode;
using plan::Scope;

/// The libraries that the published tables compare; sluice and opencv stand beside them.
struct PaperScenario {
  const char* name;
  std::vector<std::string> libraries;
  bool dali;  // has a DALI table, decoding on the GPU
};
const std::vector<PaperScenario>& paper_scenarios() {
  static const std::vector<PaperScenario> all = {
      {"image-rgb", {"albumentationsx", "torchvision", "kornia", "pillow"}, true},
      {"image-9ch", {"albumentationsx", "torchvision", "kornia"}, false},
      {"video-16f", {"albumentationsx", "torchvision", "kornia"}, true},
  };
  return all;
}

publish::ExpectedTable table_of(const plan::Job& job) {
  publish::ExpectedTable table;
  table.name = job.output.generic_string();
  table.file = job.output;
  table.device = job.device;
  table.optional = job.optional;
  for (const plan::Case& one : job.cases) {
    for (const std::string& library : job.row_libraries) {
      publish::ExpectedRow row;
      row.case_name = one.name;
      row.library = library;
      row.params = one.params;
      row.may_be_skipped = one.excluded && one.excluded->status == measure::RowStatus::skipped;
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Result<plan::Plan> paper_plan(const std::string& scenario, Mode mode,
                              const std::vector<std::string>& libraries, const char* device,
                              Scope scope) {
  config::Node selection = config::Node::map();
  selection.set("scenario", config::Node::of(scenario));
  selection.set("mode", config::Node::of(plan::to_string(mode)));
  selection.set("libraries", config::Node::of(libraries));
  selection.set("transform_set", config::Node::of("paper"));
  config::Node data = config::Node::map();
  data.set("data_dir", config::Node::of("data"));
  config::Node execution = config::Node::map();
  execution.set("device", config::Node::of(device));
  if (mode == Mode::pipeline)
    execution.set("pipeline_scope", config::Node::of(plan::to_string(scope)));
  config::Node document = config::Node::map();
  document.set("selection", std::move(selection));
  document.set("data", std::move(data));
  document.set("execution", std::move(execution));
  SLUICE_TRY(const plan::RunConfig config, plan::read_run_config(std::move(document), {}));
  return plan::make_plan(config);
}

/// Any file of the folder may hold the rows, at any size.
void add_tables(std::vector<publish::ExpectedTable>& out, const plan::Plan& made, bool optional) {
  for (const plan::Job& job : made.jobs) {
    publish::ExpectedTable table = table_of(job);
    table.file.clear();
    table.optional = optional;
    table.name = fmt::format("{}/{}/{}", job.scenario, plan::to_string(job.mode), job.library);
    if (job.mode == Mode::pipeline)
      table.name += fmt::format("_{}", plan::to_string(made.config.execution.pipeline_scope));
    for (auto& row : table.rows) {
      row.params.erase("batch_size");
      row.params.erase("workers");
    }
    out.push_back(std::move(table));
  }
}

}  // namespace

std::vector<publish::ExpectedTable> tables_of_plan(const plan::Plan& plan) {
  std::vector<publish::ExpectedTable> out;
  for (const plan::Job& job : plan.jobs)
    out.push_back(table_of(job));
  return out;
}

Result<std::vector<publish::ExpectedTable>> tables_of_profile(Profile profile) {
  std::vector<publish::ExpectedTable> out;
  for (const PaperScenario& scenario : paper_scenarios()) {
    const auto add = [&](Mode mode, const std::vector<std::string>& libraries, const char* device,
                         Scope scope, bool optional) -> Status {
      SLUICE_TRY(const plan::Plan made, paper_plan(scenario.name, mode, libraries, device, scope));
      add_tables(out, made, optional);
      return ok;
    };
    const Scope memory = Scope::memory_dataloader_augment;
    const Scope decode = Scope::decode_dataloader_augment;
    SLUICE_CHECK(add(Mode::micro, scenario.libraries, "none", memory, false));
    SLUICE_CHECK(add(Mode::pipeline, scenario.libraries, "none", memory, false));
    if (profile == Profile::ram_reduced) continue;
    SLUICE_CHECK(add(Mode::pipeline, scenario.libraries, "none", decode, false));
    if (scenario.dali) SLUICE_CHECK(add(Mode::pipeline, {"dali"}, "cuda", decode, true));
  }
  return out;
}

}  // namespace sluice::cli
