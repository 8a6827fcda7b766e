// sluice/cli/expected_tables.cpp - expected rows out of plans.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/expected_tables.h"

#include "sluice/measure/media_policy.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

using plan::Mode;
using plan::Scope;

publish::ExpectedTable table_of(const plan::Job& job, std::int64_t runs) {
  publish::ExpectedTable table;
  table.name = job.output.generic_string();
  table.file = job.output;
  table.device = job.device;
  table.optional = job.optional;
  table.runs = static_cast<int>(runs);
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

Result<plan::Plan> paper_plan(const PaperTable& paper) {
  config::Node selection = config::Node::map();
  selection.set("scenario", config::Node::of(paper.scenario));
  selection.set("mode", config::Node::of(plan::to_string(paper.mode)));
  selection.set("libraries", config::Node::of(paper.libraries));
  selection.set("transform_set", config::Node::of("paper"));
  config::Node data = config::Node::map();
  data.set("data_dir", config::Node::of("data"));
  config::Node execution = config::Node::map();
  execution.set("device", config::Node::of(paper.device));
  if (paper.mode == Mode::pipeline) {
    execution.set("pipeline_scope", config::Node::of(plan::to_string(paper.scope)));
    execution.set("batch_size", config::Node::of(paper.batch_size));
    execution.set("workers", config::Node::of(paper.workers));
  }
  config::Node document = config::Node::map();
  document.set("selection", std::move(selection));
  document.set("data", std::move(data));
  document.set("execution", std::move(execution));
  SLUICE_TRY(const plan::RunConfig config, plan::read_run_config(std::move(document), {}));
  return plan::make_plan(config);
}

/// Any file of the folder may hold the rows.
void add_tables(std::vector<publish::ExpectedTable>& out, const plan::Plan& made,
                const PaperTable& paper) {
  for (const plan::Job& job : made.jobs) {
    publish::ExpectedTable table = table_of(job, measure::kTableRuns);
    table.file.clear();
    table.optional = paper.optional;
    table.items = paper.items;
    table.run_device = paper.device;
    table.name = fmt::format("{}/{}/{}", job.scenario, plan::to_string(job.mode), job.library);
    if (job.mode == Mode::pipeline)
      table.name += fmt::format("_{}", plan::to_string(made.config.execution.pipeline_scope));
    if (std::string(paper.device) != "none") table.name += fmt::format("_dev-{}", paper.device);
    out.push_back(std::move(table));
  }
}

}  // namespace

const std::vector<PaperTable>& paper_tables() {
  static const std::vector<PaperTable> all = [] {
    using Names = std::vector<std::string>;
    const Names rgb = {"albumentationsx", "torchvision", "kornia", "pillow"};
    const Names others = {"albumentationsx", "torchvision", "kornia"};
    const Names tensors = {"torchvision", "kornia"};
    constexpr Scope kMemory = Scope::memory_dataloader_augment;
    constexpr Scope kDecode = Scope::decode_dataloader_augment;
    constexpr Mode kMicro = Mode::micro, kLoader = Mode::pipeline;
    return std::vector<PaperTable>{
        {"image-rgb", kMicro, "none", kMemory, rgb, 2000, 0, 0},
        {"image-9ch", kMicro, "none", kMemory, others, 2000, 0, 0},
        {"video-16f", kMicro, "none", kMemory, others, 2000, 0, 0},
        {"image-rgb", kLoader, "none", kMemory, rgb, 10000, 256, 8},
        {"image-9ch", kLoader, "none", kMemory, others, 10000, 64, 8},
        {"video-16f", kLoader, "none", kMemory, others, 625, 64, 8},
        {"image-rgb", kLoader, "none", kDecode, rgb, 10000, 256, 8},
        {"image-9ch", kLoader, "none", kDecode, others, 10000, 64, 8},
        {"video-16f", kLoader, "none", kDecode, others, 625, 64, 8},
        {"image-rgb", kMicro, "cuda", kMemory, tensors, 2000, 0, 0},
        {"image-9ch", kMicro, "cuda", kMemory, tensors, 1000, 0, 0},
        {"video-16f", kMicro, "cuda", kMemory, others, 1000, 0, 0},
        {"image-rgb", kLoader, "cuda", kMemory, tensors, 10000, 256, 8},
        {"image-9ch", kLoader, "cuda", kDecode, tensors, 10000, 64, 8},
        {"video-16f", kLoader, "cuda", kMemory, tensors, 625, 16, 8},
        {"image-rgb", kLoader, "cuda", kDecode, {"dali"}, 10000, 256, 8, true},
        {"video-16f", kLoader, "cuda", kDecode, {"dali"}, 625, 16, 8, true}};
  }();
  return all;
}

std::vector<publish::ExpectedTable> tables_of_plan(const plan::Plan& plan) {
  std::vector<publish::ExpectedTable> out;
  for (const plan::Job& job : plan.jobs)
    out.push_back(table_of(job, plan.config.execution.num_runs));
  return out;
}

Result<std::vector<publish::ExpectedTable>> tables_of_profile(Profile profile) {
  std::vector<publish::ExpectedTable> out;
  for (const PaperTable& paper : paper_tables()) {
    const bool decodes =
        paper.mode == Mode::pipeline && paper.scope == Scope::decode_dataloader_augment;
    const bool on_gpu = std::string(paper.device) != "none";
    if (profile == Profile::ram_reduced && (decodes || on_gpu)) continue;
    SLUICE_TRY(const plan::Plan made, paper_plan(paper));
    add_tables(out, made, paper);
  }
  return out;
}

}  // namespace sluice::cli
