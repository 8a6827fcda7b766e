// tests/train/device_summary_test.cpp - device records as plain data: steps, ops of a graph's
// kernels, gaps, shares, and the place under the roof.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/device_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice::train::device_summary_test {
namespace {

DeviceRecord kernel(const char* name, std::int64_t start, std::int64_t end, const char* op = "") {
  DeviceRecord record;
  record.name = name;
  record.op = op;
  record.start_ns = start;
  record.end_ns = end;
  record.in_graph = true;
  return record;
}
DeviceRecord copy(std::int64_t start, std::int64_t end) {
  DeviceRecord record = kernel("copy host to device", start, end);
  record.work = DeviceWork::copy;
  record.in_graph = false;
  return record;
}

/// 1000 ns on the device, 900 of them with a kernel, 950 with a kernel or a copy.
DeviceStep small_step(std::int64_t at, bool ops) {
  DeviceStep step;
  step.start_ns = at - 50;
  step.end_ns = at + 1100;
  step.records = {copy(at - 40, at + 10),  // before the first kernel: only its end counts, covered
                  kernel("nvjet_a", at, at + 400, ops ? "block0.qkv" : ""),
                  kernel("nvjet_a", at + 400, at + 600, ops ? "block1.qkv" : ""),
                  copy(at + 600, at + 650),
                  kernel("gelu_kernel", at + 700, at + 900, ops ? "block0.gelu" : ""),
                  kernel("add_partials", at + 900, at + 1000, ops ? "block0.gelu" : "")};
  return step;
}

TEST(DeviceSteps, RecordsGoWhereTheyStarted) {
  std::vector<DeviceRecord> records;
  for (std::int64_t at = 0; at < 1000; at += 10)
    records.push_back(kernel("k", at, at + 5));
  std::shuffle(records.begin(), records.end(), std::mt19937(7));  // NOLINT: repeatable
  std::vector<DeviceStep> steps(3);
  steps[0] = {100, 200, {}};
  steps[1] = {200, 250, {}};
  steps[2] = {2000, 3000, {}};
  sort_into_steps(records, steps);
  ASSERT_EQ(steps[0].records.size(), 10U);
  EXPECT_EQ(steps[0].records.front().start_ns, 100);
  EXPECT_EQ(steps[0].records.back().start_ns, 190);
  EXPECT_TRUE(std::is_sorted(
      steps[0].records.begin(), steps[0].records.end(),
      [](const DeviceRecord& a, const DeviceRecord& b) { return a.start_ns < b.start_ns; }));
  EXPECT_EQ(steps[1].records.size(), 5U);
  EXPECT_TRUE(steps[2].records.empty());
}

TEST(DeviceSteps, KernelsOfAGraphTakeTheOpsByOrder) {
  DeviceStep replayed = small_step(10'000, false);
  DeviceStep issued = small_step(50'000, true);
  issued.records.erase(issued.records.begin());  // a copy more or less does not matter
  ASSERT_TRUE(label_by_order(replayed, issued));
  EXPECT_EQ(replayed.records[2].op, "block1.qkv");
  EXPECT_EQ(replayed.records[3].op, "");  // the copy
  EXPECT_EQ(replayed.records[5].op, "block0.gelu");

  DeviceStep other = small_step(10'000, false);
  issued.records.back().name = "another";
  EXPECT_FALSE(label_by_order(other, issued));
  issued.records.pop_back();
  EXPECT_FALSE(label_by_order(other, issued));
  for (const DeviceRecord& record : other.records)
    EXPECT_EQ(record.op, "");
}

TEST(DeviceSummaryTest, KernelsCategoriesAndGaps) {
  const std::vector<DeviceStep> steps = {small_step(10'000, true), small_step(20'000, true),
                                         DeviceStep{0, 5, {}}};
  const DeviceSummary summary = summarise(steps, {}, {});
  EXPECT_EQ(summary.steps, 2);  // one had nothing
  EXPECT_DOUBLE_EQ(summary.launches, 4);
  EXPECT_DOUBLE_EQ(summary.in_graph, 1);
  ASSERT_EQ(summary.kernels.size(), 4U);
  EXPECT_EQ(summary.kernels[0].name, "nvjet_a");
  EXPECT_EQ(summary.kernels[0].category, "products");
  EXPECT_EQ(summary.kernels[0].launches, 4);
  EXPECT_DOUBLE_EQ(summary.kernels[0].mean_us(), 0.3);
  EXPECT_DOUBLE_EQ(summary.kernels[0].share, 0.6);
  EXPECT_EQ(summary.kernels[1].name, "gelu_kernel");
  EXPECT_EQ(summary.categories[0].category, "products");
  EXPECT_DOUBLE_EQ(summary.gaps.device_ms, 1e-3);
  EXPECT_DOUBLE_EQ(summary.gaps.kernel_ms, 0.9e-3);
  EXPECT_NEAR(summary.gaps.share, 0.1, 1e-12);
  EXPECT_NEAR(summary.gaps.share_of_idle, 0.05, 1e-12);
}

TEST(DeviceSummaryTest, KernelsOfTwoStreamsCountOnce) {
  DeviceStep step;
  step.records = {kernel("a", 0, 100), kernel("b", 50, 150), kernel("c", 150, 200)};
  const DeviceSummary summary = summarise({step}, {}, {});
  EXPECT_DOUBLE_EQ(summary.gaps.share, 0);
  EXPECT_DOUBLE_EQ(summary.gaps.kernel_ms, 200e-6);
}

TEST(DeviceSummaryTest, OpsStandUnderTheRoofThatLimitsThem) {
  // qkv: 600 ns; at 1000 GB/s and 1 TFLOP/s its bytes need 60 ns, its FLOP 300 ns.
  const std::map<std::string, OpCost> costs = {
      {"block0.qkv", {30'000, 150'000}},
      {"block1.qkv", {30'000, 150'000}},
      {"block0.gelu", {240'000, 0}}};  // 240 ns of 300, in two kernels: counted once
  const Ceilings ceilings{1000, 1, 1, 1};
  const std::vector<DeviceStep> steps = {small_step(10'000, true), small_step(20'000, true)};
  const DeviceSummary summary = summarise(steps, costs, ceilings);
  ASSERT_EQ(summary.roofs.size(), 2U);
  const OpRoof& product = summary.roofs[0];
  EXPECT_EQ(product.op, "block*.qkv");
  EXPECT_DOUBLE_EQ(product.kernels, 2);
  EXPECT_NEAR(product.ms, 600e-6, 1e-12);
  EXPECT_NEAR(product.dram_share, 0.1, 1e-9);
  EXPECT_NEAR(product.math_share, 0.5, 1e-9);
  EXPECT_NEAR(product.roof_share(), 0.5, 1e-9);
  EXPECT_STREQ(product.bound(), "math");
  const OpRoof& gelu = summary.roofs[1];
  EXPECT_DOUBLE_EQ(gelu.cost.bytes, 240'000);
  EXPECT_NEAR(gelu.roof_share(), 0.8, 1e-9);
  EXPECT_STREQ(gelu.bound(), "memory");
  EXPECT_NEAR(summary.op_share, 1, 1e-9);

  const Json json = to_json(summary, 1);
  EXPECT_EQ(json["kernels"].size(), 1U);
  EXPECT_EQ(json["roofline"][0]["bound"], "math");
  EXPECT_NEAR(json["roofline"][1]["dram_utilisation_estimate"].get<double>(), 0.8, 1e-9);
  EXPECT_NEAR(json["launch_gaps"]["share"].get<double>(), 0.1, 1e-9);
}

TEST(DeviceSummaryTest, NothingIsNotANumber) {
  const DeviceSummary summary = summarise({}, {}, {});
  EXPECT_EQ(summary.steps, 0);
  EXPECT_EQ(summary.gaps.share, 0);
  const Json json = to_json(summary, 30);
  EXPECT_TRUE(json["kernels"].empty());
}

}  // namespace
}  // namespace sluice::train::device_summary_test
