// tests/report/gain_test.cpp - runs beside their baseline: ratios, memory, what changed, and what
// was not measured.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gain/gain.h"

#include "sluice/report/gain/resource_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report::gain_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Runs of so many items per second, give or take a hundredth.
measure::Row row_of(const std::string& name, double rate) {
  measure::Row row;
  row.case_name = name;
  row.library = "sluice";
  row.unit = "samples/s";
  row.status = measure::RowStatus::ok;
  row.items_per_sample = 100;
  for (const double factor : {0.99, 1.0, 1.01}) {
    measure::Run& run = row.runs.emplace_back();
    run.samples_ns = {static_cast<std::int64_t>(100 / (rate * factor) * 1e9)};
  }
  measure::Summary& summary = row.summary.emplace();
  summary.mean = rate;
  summary.n_runs = 3;
  return row;
}

results::ResultFile loader_file(double rate) {
  results::ResultFile file;
  file.run_config = Json{{"command", "bench-dataloader"},
                         {"case", "loader/raw"},
                         {"num_workers", 2},
                         {"persistent_workers", true}};
  file.machine_profile = "cpu-a";
  file.session_id = "s1";
  file.rows = {row_of("loader/raw", rate), row_of("loader/raw/epoch=first", 10 * rate)};
  results::LoaderMetrics& loader = file.loader.emplace();
  loader.throughput.value = rate;
  loader.load_time_ms.value = 1000 / rate;
  loader.memory_used_gb.value = 0.5;
  return file;
}

results::ResultFile training_file(double rate, double bytes) {
  results::ResultFile file;
  file.run_config = Json{{"command", "bench-training"}, {"model", "vit5-tiny"}};
  file.machine_profile = "cpu-a";
  file.session_id = "s2";
  file.argv = {"sluice", "bench", "training"};
  file.rows = {row_of("training/vit5-tiny", rate)};
  results::TrainingMetrics& training = file.training.emplace();
  training.config.model = "vit5-tiny";
  training.timing.p50.value = 8 / rate;
  training.throughput.samples_p50.value = rate;
  training.memory.peak_allocated_bytes.value = bytes;
  return file;
}

GainReport report_of(const std::vector<results::ResultFile>& baseline,
                     const std::vector<results::ResultFile>& runs) {
  const auto sides = gain_runs(baseline, runs);
  EXPECT_TRUE(sides) << (sides ? "" : sides.error().message);
  return gain_report(*sides);
}

std::string change_of(const GainReport& report, const std::string& name) {
  for (const GainLine& line : report.lines)
    if (line.name == name) return line.change;
  return "there is no line " + name;
}

TEST(Gain, TimesAsFastWithIntervalsAndMemoryInPercent) {
  const std::vector baseline{loader_file(100), training_file(50, 1000)};
  std::vector runs{training_file(100, 660), loader_file(231)};
  runs[0].training->amp.enabled = true;
  runs[1].run_config["num_workers"] = 4;
  runs[1].run_config["cached"] = true;
  const GainReport report = report_of(baseline, runs);
  EXPECT_THAT(change_of(report, "data loading"), HasSubstr("2.31"));
  EXPECT_THAT(change_of(report, "data loading"), HasSubstr(" to ")) << "three runs a side";
  EXPECT_THAT(change_of(report, "training"), HasSubstr("2.00"));
  EXPECT_EQ(change_of(report, "memory of training"), "34 % less");
  EXPECT_EQ(change_of(report, "memory of the loader"), "the same");
  EXPECT_THAT(report.headline,
              AllOf(HasSubstr("Data loading 2.31"), HasSubstr("training 2.00"),
                    HasSubstr("memory 34 % less"), HasSubstr("against the baseline")));
  const std::string page = gain_markdown(report);
  EXPECT_THAT(page,
              AllOf(HasSubstr("- Mixed precision (AMP) (new)"), HasSubstr("- Local caching (new)"),
                    HasSubstr("- Persistent workers (both)"),
                    HasSubstr("| loader | num_workers (changed) | 2 | 4 |"),
                    HasSubstr("| training | model | vit5-tiny | vit5-tiny |")));
}

TEST(Gain, WhatOneSideLacksIsNotGuessed) {
  const GainReport report =
      report_of({loader_file(100)}, {loader_file(110), training_file(50, 1000)});
  EXPECT_EQ(change_of(report, "training"), "n/a: the baseline has no run of `bench training`");
  EXPECT_THAT(report.headline, HasSubstr("training n/a"));
  std::vector short_runs{loader_file(110)};
  short_runs[0].rows[0].runs.resize(1);
  EXPECT_THAT(change_of(report_of({loader_file(100)}, short_runs), "data loading"),
              HasSubstr("1.10× (one run a side: no interval)"));
}

TEST(Gain, OtherMachinesAndDataAreSaid) {
  std::vector runs{training_file(50, 1000)};
  runs[0].machine_profile = "cpu-b";
  runs[0].dataset.hash = "abc";
  runs[0].training->config.model = "gpt-tiny";
  const GainReport report = report_of({training_file(50, 1000)}, runs);
  EXPECT_THAT(report.remarks,
              ::testing::ElementsAre(HasSubstr("machines differ, cpu-a and cpu-b"),
                                     HasSubstr("the data differ"), HasSubstr("models differ")));
}

TEST(Gain, UnequalWorkIsNamedInOneLine) {
  std::vector baseline{training_file(50, 1000), loader_file(100)};
  std::vector runs{training_file(100, 660), loader_file(231)};
  for (std::vector<results::ResultFile>* side : {&baseline, &runs}) {
    const bool after = side == &runs;
    results::TrainingMetrics& training = *(*side)[0].training;
    training.config.mode = "e2e";
    training.config.device = "cuda:0";
    training.config.per_device_batch_size = after ? 64 : 8;
    training.config.other = Json{{"model_shape", {{"layers", 12}, {"image", after ? 160 : 224}}},
                                 {"optimizer", after ? "adamw" : "lamb"},
                                 {"last_block", after ? "class-token" : "full"},
                                 {"compile", after ? "graph" : "fused"}};
    training.data = Json{{"source", "loader"}, {"recipe", {{"type", after ? "u8" : "f32"}}}};
    (*side)[1].run_config["batch_size"] = after ? 64 : 256;
    if (after) (*side)[1].run_config["case"] = "loader/rrc224-antialias";
    if (after) (*side)[1].rows[0].case_name = "loader/rrc224-antialias";
    if (after) (*side)[0].run_config["mixup"] = 0.8;
  }
  const GainReport report = report_of(baseline, runs);
  ASSERT_EQ(report.remarks.size(), 2U) << "one line for each kind";
  EXPECT_THAT(report.remarks[0],
              AllOf(HasSubstr("data loading: the sides did not do the same work"),
                    HasSubstr("batch_size (baseline '256', run '64')"),
                    HasSubstr("case (baseline 'loader/raw', run 'loader/rrc224-antialias')")));
  EXPECT_THAT(report.remarks[1], AllOf(HasSubstr("training: the sides did not do the same work"),
                                       HasSubstr("per_device_batch_size (baseline '8', run '64')"),
                                       HasSubstr("model_shape.image (baseline '224', run '160')"),
                                       HasSubstr("optimizer (baseline 'lamb', run 'adamw')"),
                                       HasSubstr("last_block (baseline 'full', run 'class-token')"),
                                       HasSubstr("data.recipe.type (baseline 'f32', run 'u8')"),
                                       HasSubstr("mixup (baseline '0', run '0.8')"),
                                       Not(HasSubstr("layers")), Not(HasSubstr("compile"))));
  EXPECT_THAT(gain_markdown(report),
              AllOf(HasSubstr("run 'class-token'"), HasSubstr("class token alone: less work")));
  EXPECT_THAT(gain_html(report), HasSubstr("run &#39;class-token&#39;"));
  EXPECT_TRUE(report_of(runs, runs).remarks.empty());
}

TEST(Gain, RefusesWhatCannotBeCompared) {
  const auto refused = [](const std::vector<results::ResultFile>& baseline,
                          const std::vector<results::ResultFile>& runs) {
    const auto sides = gain_runs(baseline, runs);
    return sides ? std::string("accepted") : sides.error().message;
  };
  EXPECT_THAT(refused({loader_file(1)}, {training_file(1, 1)}), HasSubstr("no kind in common"));
  EXPECT_THAT(refused({loader_file(1), loader_file(2)}, {loader_file(1)}),
              HasSubstr("two runs of `bench dataloader`"));
  results::ResultFile other;
  other.run_config = Json{{"command", "bench-storage"}};
  EXPECT_THAT(refused({other}, {loader_file(1)}), HasSubstr("bench-storage"));
}

TEST(Gain, TheMachineOverTimeIsDrawn) {
  std::vector runs{training_file(100, 660)};
  results::ResourceUse& use = runs[0].resources.emplace();
  use.at_s = {1, 2, 3};
  use.cpu = {0, 0.5, 1};
  use.ram = {1e9, 1e9, 2e9};
  use.cores = 2;
  use.ram_total = 4e9;
  use.no_gpu = "no GPU was <asked> for";
  const auto lines = resource_lines(use);
  ASSERT_EQ(lines.size(), 2U) << "no line of a GPU that was not watched";
  EXPECT_EQ(sparkline(lines[0]), "▁▅█");
  EXPECT_EQ(lines[0].summary(), "mean 50 %, highest 100 % of 2 cores");
  const std::vector baseline{training_file(50, 1000)};
  const GainReport report = report_of(baseline, runs);
  EXPECT_THAT(gain_markdown(report), AllOf(HasSubstr("training, CPU: `▁▅█` mean 50 %"),
                                           HasSubstr("baseline, training: n/a")));
  const std::string page = gain_html(report);
  EXPECT_THAT(page, AllOf(HasSubstr("aria-label=\"CPU over time"), HasSubstr("RAM over time"),
                          HasSubstr("&lt;asked&gt;"), Not(HasSubstr("<asked>")),
                          Not(HasSubstr("<script"))));
  use.ram.pop_back();  // lists that do not fit each other
  EXPECT_EQ(resource_lines(use).size(), 1U);
}

}  // namespace
}  // namespace sluice::report::gain_test
