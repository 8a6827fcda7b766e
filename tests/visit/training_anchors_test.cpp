// tests/visit/training_anchors_test.cpp - rows of other libraries beside what they are known to
// reach.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/peers/library.h"
#include "sluice/visit/training/anchors.h"
#include "sluice/visit/training/result.h"

#include <gmock/gmock.h>

#include "tests/core/temporary_folder.h"
#include "tests/places.h"

namespace sluice::visit::training_anchors_test {
namespace {

using ::testing::HasSubstr;

/// Those of the checkout.
TrainingAnchors shipped() {
  const auto read = read_training_anchors(testing_support::source_dir() / "adapters");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  EXPECT_EQ(read.value().size(), 3U);
  return read.value();
}

TrainingPlan plan_of_anchors() {
  TrainingPlan plan;
  plan.engine.model = train::find_model("vit5-small").value();
  plan.engine.device = "cuda:0";
  plan.engine.regime = train::Regime::bf16;
  plan.engine.batch = 256;
  plan.regimes = {train::Regime::bf16};
  plan.rungs = {train::Rung::graph};
  plan.batches = {256};
  plan.libraries = {"torch-compile"};
  plan.synthetic = true;
  plan.gpu_index = 0;
  return plan;
}

measure::Row row_of(const std::string& library, double step_ms) {
  measure::Row row;
  row.case_name = "training/vit5-small";
  row.library = library;
  row.params = {{"batch_size", "256"}, {"dtype", "bf16-weights"}, {"grad_accum", "1"}};
  row.unit = "samples/s";
  row.items_per_sample = 256;
  measure::Run run;
  for (int i = 0; i < 5; ++i)
    run.samples_ns.push_back(static_cast<std::int64_t>(step_ms * 1e6));
  run.details = Json::array({Json{{"engine", Json{{"device", "cuda:0 NVIDIA H200"}}},
                                  {"peak_bytes", 1000},
                                  {"queued_step_ns", 28'000'000}}});
  row.runs.push_back(std::move(run));
  row.summary.emplace();
  return row;
}

TEST(TrainingAnchors, EveryAnchorNamesALibraryAndAPreset) {
  for (const TrainingAnchor& anchor : shipped()) {
    const peers::Library* library = peers::find_library(anchor.library);
    ASSERT_NE(library, nullptr) << anchor.library;
    EXPECT_NE(library->way("training"), nullptr) << anchor.library;
    EXPECT_TRUE(train::find_model(anchor.model)) << anchor.model;
    EXPECT_GT(anchor.step_ms, 0);
    const auto check =
        check_anchor(row_of(anchor.library, anchor.step_ms * 1.02), plan_of_anchors(), shipped());
    ASSERT_TRUE(check) << anchor.library;
    EXPECT_NEAR(check->off(), 0.02, 1e-6);
    EXPECT_TRUE(check->valid());
  }
}

TEST(TrainingAnchors, AFileWithoutAnchorsIsNoneAndABrokenOneSaysWhatIsExpected) {
  const testing_support::TemporaryFolder folder;
  EXPECT_TRUE(read_training_anchors({}).value().empty());
  EXPECT_TRUE(read_training_anchors(folder.path()).value().empty());
  const auto problem = [&](const std::string& text) {
    EXPECT_TRUE(write_file_atomic(folder.path() / "anchors.json", text));
    const auto read = read_training_anchors(folder.path());
    return read ? std::string() : read.error().message;
  };
  EXPECT_THAT(problem(R"({"training": [{"device": "d"}]})"), HasSubstr("expected a list"));
  EXPECT_THAT(problem(R"({"training": [{"dtype": "fp7"}]})"), HasSubstr("fp7"));
  EXPECT_THAT(problem("{"), HasSubstr("anchors.json"));
}

TEST(TrainingAnchors, SlowerThanFivePercentIsInvalidAndFasterIsNot) {
  const TrainingPlan plan = plan_of_anchors();
  EXPECT_TRUE(check_anchor(row_of("torch-compile", 28.5 * 1.049), plan, shipped())->valid());
  EXPECT_FALSE(check_anchor(row_of("torch-compile", 28.5 * 1.051), plan, shipped())->valid());
  EXPECT_TRUE(check_anchor(row_of("torch-compile", 14), plan, shipped())->valid());
  EXPECT_EQ(check_anchor(row_of("torch-compile", 31.35), plan, shipped())->text(),
            "anchor: 28.5 ms, measured 31.4 ms, off by +10.0 %");
}

TEST(TrainingAnchors, AnotherSettingHasNone) {
  const measure::Row row = row_of("torch-compile", 40);
  const auto without = [&](const std::function<void(TrainingPlan&)>& change) {
    TrainingPlan plan = plan_of_anchors();
    change(plan);
    return !check_anchor(row, plan, shipped());
  };
  EXPECT_TRUE(without([](TrainingPlan& plan) { plan.synthetic = false; }));
  EXPECT_TRUE(without([](TrainingPlan& plan) { plan.engine.grad_accum = 2; }));
  EXPECT_TRUE(without([](TrainingPlan& plan) { plan.engine.model.layers = 6; }));
  EXPECT_TRUE(without(
      [](TrainingPlan& plan) { plan.engine.model = train::find_model("vit5-base").value(); }));
  const TrainingPlan plan = plan_of_anchors();
  EXPECT_FALSE(check_anchor(row_of("sluice", 40), plan, shipped()));
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"batch_size", "128"}, {"dtype", "bf16"}, {"last_block", "class-token"}}) {
    measure::Row other = row;
    other.params[name] = value;
    EXPECT_FALSE(check_anchor(other, plan, shipped())) << name;
  }
  measure::Row other = row;
  other.runs[0].details[0]["engine"]["device"] = "cuda:0 NVIDIA H100 80GB HBM3";
  EXPECT_FALSE(check_anchor(other, plan, shipped()));
  other.runs[0].details = nullptr;
  EXPECT_FALSE(check_anchor(other, plan, shipped()));
  other.runs.clear();
  EXPECT_FALSE(check_anchor(other, plan, shipped())) << "not measured";
}

TEST(TrainingAnchors, ASlowPeerFailsItsRowAndTheRun) {
  TrainingPlan plan = plan_of_anchors();
  plan.libraries = {"torch-compile", "torch-eager"};
  results::ResultFile file;
  file.rows = {row_of("torch-compile", 40), row_of("torch-eager", 40)};
  conclude_training(file, plan, {.anchors = shipped()});
  EXPECT_EQ(file.rows[0].status, measure::RowStatus::failed);
  EXPECT_THAT(file.rows[0].reason, HasSubstr("anchor: 28.5 ms, measured 40.0 ms, off by +40.4 %"));
  EXPECT_FALSE(file.rows[0].summary);
  EXPECT_EQ(file.rows[0].runs.size(), 1U) << "what was measured stays";
  EXPECT_EQ(file.rows[1].status, measure::RowStatus::ok) << "faster than its anchor";
  EXPECT_TRUE(results::has_failed_row(file));
  const Json written = results::to_json(file);
  const Json& lines = written["summary"]["libraries"];
  EXPECT_EQ(lines[0]["anchor"]["valid"], Json(false));
  EXPECT_EQ(lines[1]["anchor"]["valid"], Json(true));
  EXPECT_EQ(lines[1]["peak_bytes"], Json(1000.0));
  EXPECT_EQ(lines[1]["queued_step_ms"], Json(28.0));
  EXPECT_EQ(lines[1]["engine"]["device"], Json("cuda:0 NVIDIA H200"));
  EXPECT_FALSE(file.training) << "they are of our engine";
}

TEST(TrainingResult, RowsOfAGpuHoldItsPeakMemory) {
  TrainingPlan plan = plan_of_anchors();
  plan.libraries = {"sluice", "torch-compile", "torch-eager"};
  results::ResultFile file;
  file.rows = {row_of("sluice", 20), row_of("torch-compile", 28), row_of("torch-eager", 58)};
  file.rows[0].runs[0].details[0]["driver_peak_bytes"] = 1200;
  file.rows[0].runs.push_back(file.rows[0].runs[0]);
  file.rows[0].runs[1].details[0]["peak_bytes"] = 1100;
  file.rows[1].runs[0].details[0]["driver_peak_bytes"] = 1700;
  file.rows[1].runs[0].details[0]["reserved_bytes"] = 1500;
  file.rows[2].runs[0].details[0].erase("peak_bytes");
  conclude_training(file, plan, {.anchors = shipped()});
  const Json rows = results::to_json(file)["rows"];
  const auto bytes = [](int allocated, int reserved) {
    return Json{{"peak_allocated_bytes", allocated}, {"peak_reserved_bytes", reserved}};
  };
  EXPECT_EQ(rows[0]["gpu_memory"], bytes(1100, 1200)) << "the largest over runs";
  EXPECT_EQ(rows[1]["gpu_memory"], bytes(1000, 1500)) << "of PyTorch's allocator";
  EXPECT_TRUE(rows[2]["gpu_memory"].is_null());
  EXPECT_EQ(rows[2]["gpu_memory_reason"], Json("no worker told of a GPU's memory"));
  plan.gpu_index = -1;
  file.rows = {row_of("sluice", 20)};
  conclude_training(file, plan, {.anchors = shipped()});
  EXPECT_FALSE(file.rows[0].gpu_memory) << "memory of the host";
}

TEST(TrainingResult, TheOptimizerIsTheOneInForce) {
  TrainingPlan plan = plan_of_anchors();
  plan.engine.update.kind = train::OptimizerKind::lamb;
  EXPECT_EQ(plan.optimizers(), "none") << "regime A is forward and backward alone";
  plan.regimes = {train::Regime::fp32};
  EXPECT_EQ(plan.optimizers(), "lamb");
  plan.regimes = {train::Regime::bf16, train::Regime::fp32};
  EXPECT_EQ(plan.optimizers(), "none,lamb");
}

TEST(TrainingAnchors, RungsAreRowsOfTheLadder) {
  TrainingPlan plan = plan_of_anchors();
  plan.libraries = {"sluice", "torch-compile"};
  plan.rungs = {train::Rung::off, train::Rung::graph};
  results::ResultFile file;
  file.rows = {row_of("sluice", 60), row_of("sluice", 20), row_of("torch-compile", 28)};
  file.rows[0].case_name += "/compile=off";
  conclude_training(file, plan, {.anchors = shipped()});
  const Json written = results::to_json(file);
  const Json& summary = written["summary"];
  ASSERT_EQ(summary["sweep"].size(), 2U);
  EXPECT_EQ(summary["sweep"][0]["compile"], Json("off"));
  EXPECT_NEAR(summary["sweep"][0]["step_ms"].get<double>(), 60, 1e-6);
  EXPECT_EQ(summary["sweep"][1]["compile"], Json("graph"));
  EXPECT_EQ(written["metrics"]["run_config"]["compile"], Json("graph")) << "the fastest";
}

}  // namespace
}  // namespace sluice::visit::training_anchors_test
