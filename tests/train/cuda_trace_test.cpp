// tests/train/cuda_trace_test.cpp - CUPTI's records of what really ran: kernels launched one by one
// and replayed, copies, ops, clocks; the roofs; a whole profile.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/ceilings.h"
#include "sluice/train/cuda/tracer.h"
#include "sluice/train/phase.h"
#include "sluice/train/profile/device_profile.h"

#include "tests/train/cuda_support.h"
#include <algorithm>
#include <random>
#include <set>

namespace sluice::train::cuda::testing::cuda_trace_test {
namespace {

class CudaTrace : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    if (const auto tracer = Tracer::begin(false); !tracer) GTEST_SKIP() << tracer.error().message;
  }
  static void idle() {
    ASSERT_EQ(table().synchronize(device(), 30), kDone) << table().message(device());
  }
  static std::vector<DeviceRecord> ended(Tracer& tracer) {
    idle();
    auto records = tracer.end();
    EXPECT_TRUE(records.has_value()) << records.error().message;
    EXPECT_EQ(records->note, "");
    std::sort(records->list.begin(), records->list.end(),
              [](const DeviceRecord& a, const DeviceRecord& b) { return a.start_ns < b.start_ns; });
    return records->list;
  }
  /// GELU of 1M numbers: one kernel.
  struct Gelu {
    Buffer<float> x{std::vector<float>(1 << 20, 0.5F)}, y{std::int64_t{1} << 20};
    [[nodiscard]] KernelCall call() const { return GeluCall{y, x, nullptr, 1 << 20, 1 << 20}; }
  };
};

TEST_F(CudaTrace, KernelsKnowTheirOpsAndTimes) {
  const Gelu gelu;
  const KernelCall call = gelu.call();
  run(call);
  auto tracer = Tracer::begin(true);
  ASSERT_TRUE(tracer.has_value()) << tracer.error().message;
  const std::int64_t before = now_ns();
  for (const char* op : {"first", "second"}) {
    table().push_range(op);
    ASSERT_EQ(table().launch(device(), &call), kDone);
    table().pop_range();
  }
  ASSERT_EQ(table().launch(device(), &call), kDone);  // in no range
  idle();
  const std::int64_t after = now_ns();
  const auto records = ended(*tracer);
  ASSERT_EQ(records.size(), 3U);
  const std::vector<std::string> ops = {"first", "second", ""};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].op, ops[i]);
    EXPECT_NE(records[i].name.find("gelu_kernel"), std::string::npos) << records[i].name;
    EXPECT_FALSE(records[i].in_graph);
    EXPECT_GT(records[i].end_ns, records[i].start_ns);
    EXPECT_GE(records[i].start_ns, before);  // the host's clock
    EXPECT_LE(records[i].end_ns, after);
  }
}

TEST_F(CudaTrace, KernelsOfAGraphAreSeenOneByOne) {
  const Gelu gelu;
  const KernelCall call = gelu.call();
  run(call);
  auto tracer = Tracer::begin(false);
  ASSERT_TRUE(tracer.has_value()) << tracer.error().message;
  Graph* graph = nullptr;
  ASSERT_EQ(table().begin_capture(device()), kDone);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(table().launch(device(), &call), kDone);
  ASSERT_EQ(table().end_capture(device(), &graph), kDone);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(table().run_graph(device(), graph), kDone);
  const auto records = ended(*tracer);
  table().drop_graph(device(), graph);
  ASSERT_EQ(records.size(), 6U);
  for (const DeviceRecord& record : records) {
    EXPECT_EQ(record.work, DeviceWork::kernel);
    EXPECT_TRUE(record.in_graph);
  }
}

TEST_F(CudaTrace, CopiesAndClearsAreSeen) {
  const Buffer<float> memory{std::int64_t{1} << 20};
  const std::vector<float> host(1 << 20, 1.0F);
  auto tracer = Tracer::begin(false);
  ASSERT_TRUE(tracer.has_value()) << tracer.error().message;
  ASSERT_EQ(table().upload(device(), memory.data(), host.data(), host.size() * 4), kDone);
  const KernelCall clear = ClearCall{memory.data(), std::size_t{4} << 20};
  ASSERT_EQ(table().launch(device(), &clear), kDone);
  const auto records = ended(*tracer);
  std::uint64_t copied = 0, cleared = 0;
  for (const DeviceRecord& record : records) {
    if (record.work == DeviceWork::copy) copied += record.bytes;
    if (record.work == DeviceWork::clear) cleared += record.bytes;
  }
  EXPECT_EQ(copied, std::uint64_t{4} << 20);
  EXPECT_EQ(cleared, std::uint64_t{4} << 20);
}

TEST_F(CudaTrace, OneAtATimeAndNothingBefore) {
  const Gelu gelu;
  run(gelu.call());
  {
    auto first = Tracer::begin(false);
    ASSERT_TRUE(first.has_value());
    EXPECT_FALSE(Tracer::begin(false).has_value());
    run(gelu.call());
  }  // its record is forgotten
  auto second = Tracer::begin(false);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_TRUE(ended(*second).empty());
}

TEST_F(CudaTrace, RoofsAreThoseOfAGpu) {
  const auto ceilings = measure_ceilings(0);
  ASSERT_TRUE(ceilings.has_value()) << ceilings.error().message;
  std::printf("copy %.0f GB/s, product %.0f TFLOP/s\n", ceilings->copy_gigabytes_per_s,
              ceilings->product_teraflops);
  EXPECT_GT(ceilings->copy_gigabytes_per_s, 50);
  EXPECT_LT(ceilings->copy_gigabytes_per_s, 50'000);
  EXPECT_GT(ceilings->product_teraflops, 5);
  EXPECT_LT(ceilings->product_teraflops, 50'000);
}

TEST_F(CudaTrace, AStepByItsKernels) {
  EngineConfig config;
  config.model = *find_model("vit5-tiny");
  config.device = "cuda:0";
  config.regime = Regime::mixed;
  config.batch = 4;
  std::vector<float> images(std::size_t{4} * 3 * 224 * 224);
  std::mt19937 random(11);  // NOLINT: repeatable
  for (float& value : images)
    value = std::uniform_real_distribution<float>(-1, 1)(random);
  const std::vector<std::int32_t> labels = {1, 2, 3, 4};
  const BatchSource next = [&]() -> Result<BatchView> {
    BatchView view;
    view.images = images;
    view.labels = labels;
    return view;
  };
  for (const Rung rung : {Rung::fused, Rung::graph}) {
    SCOPED_TRACE(to_string(rung));
    config.rung = rung;
    const auto profile = profile_device(config, next, true);
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    EXPECT_EQ(profile->no_trace, "");
    EXPECT_EQ(profile->no_ops, "");
    EXPECT_EQ(profile->natural_ms.size(), 10U);
    EXPECT_EQ(profile->events_ms.size(), 10U);
    ASSERT_EQ(profile->summary.steps, 5);
    std::set<std::size_t> kernels;
    for (const DeviceStep& step : profile->steps)
      kernels.insert(step.records.size());
    EXPECT_EQ(kernels.size(), 1U);  // every step is the same work
    EXPECT_GT(profile->summary.launches, 100);
    EXPECT_EQ(profile->summary.in_graph, rung == Rung::graph ? 1 : 0);
    EXPECT_GT(profile->summary.op_share, 0.99);
    EXPECT_GE(profile->summary.gaps.share, 0);
    EXPECT_LT(profile->summary.gaps.share, 1);
    std::printf("%s\n", to_json(*profile, 5).dump(1).c_str());
  }
}

}  // namespace
}  // namespace sluice::train::cuda::testing::cuda_trace_test
