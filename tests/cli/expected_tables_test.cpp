// tests/cli/expected_tables_test.cpp - the paper profile is what configs/paper measures.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/expected_tables.h"

#include "sluice/measure/media_policy.h"

#include <gtest/gtest.h>

#include "tests/places.h"
#include <algorithm>
#include <filesystem>
#include <string>

namespace sluice::cli::expected_tables_test {
namespace {

namespace fs = std::filesystem;

const PaperTable* table_for(const plan::RunConfig& config, const std::string& library) {
  for (const PaperTable& table : paper_tables()) {
    const bool same_scope =
        config.mode() != plan::Mode::pipeline || table.scope == config.execution.pipeline_scope;
    if (table.scenario == config.scenario().name && table.mode == config.mode() &&
        table.device == config.execution.device && same_scope &&
        std::ranges::find(table.libraries, library) != table.libraries.end())
      return &table;
  }
  return nullptr;
}

TEST(PaperTables, HaveTheSizesOfTheCheckedInConfigurations) {
  int seen = 0;
  for (const auto& entry :
       fs::directory_iterator(testing_support::source_dir() / "configs" / "paper")) {
    if (!entry.path().stem().string().starts_with("prod_")) continue;
    SCOPED_TRACE(entry.path().filename());
    const auto config = plan::load_run_config(entry.path(), {});
    ASSERT_TRUE(config) << config.error().message;
    for (const std::string& library : config->libraries()) {
      const PaperTable* table = table_for(*config, library);
      ASSERT_NE(table, nullptr) << library;
      EXPECT_EQ(table->items, config->data.num_items);
      const bool loader = config->mode() == plan::Mode::pipeline;
      EXPECT_EQ(table->batch_size, loader ? config->execution.batch_size : 0);
      EXPECT_EQ(table->workers, config->execution.workers);
      EXPECT_EQ(table->optional, library == "dali");
      ++seen;
    }
  }
  EXPECT_GE(seen, 30);
}

TEST(PaperTables, AskForItemsBatchWorkersRunsAndDevice) {
  const auto tables = tables_of_profile(Profile::full_paper);
  ASSERT_TRUE(tables) << tables.error().message;
  const auto named = [&](const std::string& name) {
    const auto found = std::ranges::find(*tables, name, &publish::ExpectedTable::name);
    EXPECT_NE(found, tables->end()) << name;
    return found == tables->end() ? publish::ExpectedTable{} : *found;
  };
  const auto loader = named("image-9ch/pipeline/torchvision_decode_dataloader_augment_dev-cuda");
  EXPECT_EQ(loader.items, 10000);
  EXPECT_EQ(loader.runs, measure::kTableRuns);
  EXPECT_EQ(loader.device, "cuda");
  ASSERT_FALSE(loader.rows.empty());
  EXPECT_EQ(loader.rows[0].params.at("batch_size"), "64");
  EXPECT_EQ(loader.rows[0].params.at("workers"), "8");
  EXPECT_EQ(named("image-rgb/micro/kornia_dev-cuda").rows.size(), 57U);
  const auto host = named("video-16f/micro/albumentationsx_dev-cuda");
  EXPECT_EQ(host.device, "none") << "it runs on the host of that machine";
  EXPECT_EQ(host.run_device, "cuda") << "a run on a machine without a GPU is another table";
  const auto reduced = tables_of_profile(Profile::ram_reduced);
  ASSERT_TRUE(reduced);
  EXPECT_TRUE(std::ranges::none_of(*reduced, [](const publish::ExpectedTable& table) {
    return table.device == "cuda" || table.name.find("decode_dataloader") != std::string::npos;
  }));
}

}  // namespace
}  // namespace sluice::cli::expected_tables_test
