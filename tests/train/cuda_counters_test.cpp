// tests/train/cuda_counters_test.cpp - the hardware's own count of bytes beside what a kernel must
// move; names that no chip has; work that fails.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/counters.h"
#include "sluice/train/profile/device_counters.h"

#include "tests/train/cuda_support.h"
#include <array>

namespace sluice::train::cuda::testing::cuda_counters_test {
namespace {

constexpr std::array<const char*, 2> kBytes = {"dram__bytes_read.sum", "dram__bytes_write.sum"};

class CudaCounters : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    // A driver may keep its counters for administrators.
    if (const auto some = count(0, kBytes, [] { return Status(ok); }); !some)
      GTEST_SKIP() << some.error().message;
  }
  static Status idle() {
    if (table().synchronize(device(), 30) == kDone) return ok;
    return Error{Errc::measurement, table().message(device())};
  }
};

TEST_F(CudaCounters, BytesOfACopyAreThoseItMoves) {
  constexpr std::int64_t kFloats = std::int64_t{128} << 20;  // 512 MiB: ten times what the L2 holds
  const Buffer<float> from(kFloats), to(kFloats);
  const auto counted = count(0, kBytes, [&]() -> Status {
    if (table().copy(device(), to.data(), from.data(), kFloats * sizeof(float)) != kDone)
      return Error{Errc::measurement, table().message(device())};
    return idle();
  });
  ASSERT_TRUE(counted.has_value()) << counted.error().message;
  const double bytes = kFloats * sizeof(float);
  EXPECT_NEAR((*counted)[0] / bytes, 1, 0.1);
  EXPECT_NEAR((*counted)[1] / bytes, 1, 0.15);  // the L2 keeps the last of it
}

TEST_F(CudaCounters, ANameThatNoChipHas) {
  constexpr std::array<const char*, 1> kUnknown = {"dram__bytes_dreamt.sum"};
  int runs = 0;
  const auto counted = count(0, kUnknown, [&]() -> Status {
    ++runs;
    return ok;
  });
  ASSERT_FALSE(counted.has_value());
  EXPECT_EQ(counted.error().code, Errc::unsupported);
  EXPECT_NE(counted.error().message, "");
  EXPECT_EQ(runs, 0);
}

TEST_F(CudaCounters, WorkThatFailsIsTheErrorAndCountingGoesOnAfterwards) {
  const auto failed = count(0, kBytes, [] {
    return Status(Error{Errc::measurement, "on purpose"});
  });
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "on purpose");
  EXPECT_TRUE(count(0, kBytes, [] { return Status(ok); }).has_value());
}

TEST_F(CudaCounters, AStepOfAnEngine) {
  EngineConfig config;
  config.model = *find_model("vit5-tiny");
  config.device = "cuda:0";
  config.regime = Regime::mixed;
  config.batch = 16;
  const std::vector<float> images(std::size_t{16} * 3 * 224 * 224, 0.5F);
  const std::vector<std::int32_t> labels(16, 3);
  const auto counters = count_step(
      config,
      [&]() -> Result<BatchView> {
        BatchView view;
        view.images = images;
        view.labels = labels;
        return view;
      },
      true);
  ASSERT_TRUE(counters.has_value()) << counters.error().message;
  std::printf("%s\n", to_json(*counters).dump(1).c_str());
  EXPECT_GT(counters->seconds, 0);
  // The optimizer alone reads and writes three numbers for each of 5.7 million parameters.
  EXPECT_GT(counters->dram_read_bytes, 1e7);
  EXPECT_GT(counters->dram_share, 0);
  EXPECT_LT(counters->dram_share, 1);
}

}  // namespace
}  // namespace sluice::train::cuda::testing::cuda_counters_test
