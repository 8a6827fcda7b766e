// tests/analysis/advice_test.cpp - each limit has the advice that mends it, and none that cannot.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/advice.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::analysis::advice_test {
namespace {

using ::testing::HasSubstr;

/// A loader of `workers` on `cores` that is busy all the time: shares of its stages, and how much
/// of that time it computes. 100 batches of 10 ms each.
AdviceFacts loader_of(int workers, unsigned cores, double read, double decode, double augment,
                      double computing = 1) {
  AdviceFacts facts;
  facts.setting.workers = workers;
  facts.setting.cores = cores;
  facts.loader.workers = workers;
  facts.loader.wall_s = 1;
  facts.loader.batches = 100;
  facts.loader.samples = 3200;
  facts.loader.worker_busy_s = workers;
  facts.loader.cpu_s = workers * computing;
  facts.loader.stages = {{"list", 5, 0},
                         {"read", read * workers, 0},
                         {"decode", decode * workers, 0},
                         {"augment", augment * workers, 0}};
  facts.times.loader = facts.times.together = exactly(10);
  facts.times.model = exactly(1);
  return facts;
}

ProbedChange to(double work, double bytes = 1) {
  return {{work, work * 0.98, work * 1.02, 0.95}, bytes};
}

TEST(AdviceTest, DecodeIsMendedByDecodingLess) {
  AdviceFacts facts = loader_of(2, 2, 0.02, 0.9, 0.08);
  facts.probed = {to(0.5), to(0.6, 0.4), 256, {}};
  const auto advice = advise(facts);
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_EQ(advice[0].kind, AdviceKind::decode_scaled);
  EXPECT_EQ(advice[1].kind, AdviceKind::smaller_images);
  EXPECT_EQ(advice[1].number, 256);
  EXPECT_THAT(advice[1].how, HasSubstr("sluice data shrink"));
  EXPECT_THAT(advice_line(advice[0]), HasSubstr("(`--decode scaled`)"));
  // Half of 98 % is left: 10 ms become 5.1; the lower end promises 0.8 of that gain.
  EXPECT_GT(advice[0].gain.low, 1.65);
  EXPECT_LT(advice[0].gain.low, 1.96);
  EXPECT_GT(advice[0].gain.high, 1.96);
}

TEST(AdviceTest, IdleCoresAreMendedByWorkers) {
  const auto advice = advise(loader_of(1, 8, 0.02, 0.9, 0.08));
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].kind, AdviceKind::more_workers);
  EXPECT_EQ(advice[0].number, 4);
}

TEST(AdviceTest, BusyCoresAreNot) {
  EXPECT_TRUE(advise(loader_of(2, 2, 0.02, 0.9, 0.08)).empty());
  EXPECT_TRUE(advise(loader_of(8, 2, 0.02, 0.9, 0.08)).empty());
}

TEST(AdviceTest, ABucketThatIsWaitedForIsMendedByACacheAndByWorkers) {
  AdviceFacts facts = loader_of(2, 2, 0.9, 0.08, 0.02, 0.1);
  facts.setting.remote = true;
  const auto advice = advise(facts);
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_EQ(advice[0].kind, AdviceKind::cache);
  EXPECT_EQ(advice[1].kind, AdviceKind::more_workers);
  EXPECT_GT(advice[1].number, 2);
  facts.setting.cached = true;
  for (const Advice& one : advise(facts))
    EXPECT_NE(one.kind, AdviceKind::cache);
}

TEST(AdviceTest, ReadsOfManyFilesAreMendedByBundles) {
  const auto advice = advise(loader_of(2, 2, 0.5, 0.4, 0.1));
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].kind, AdviceKind::bundle);
}

TEST(AdviceTest, ReadsPastThePageCacheAreMendedByIt) {
  AdviceFacts facts = loader_of(2, 2, 0.7, 0.2, 0.1, 0.4);
  facts.setting.direct = true;
  const auto advice = advise(facts);
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice[0].kind, AdviceKind::buffered);
}

TEST(AdviceTest, AStepThatIsTheLimitHasNone) {
  AdviceFacts facts = loader_of(1, 8, 0.5, 0.4, 0.1);
  facts.probed = {to(0.5), to(0.5, 0.4), 256, {}};
  facts.verdict = Bottleneck::compute;
  EXPECT_TRUE(advise(facts).empty());
}

TEST(AdviceTest, TransferIsMendedByWhatIsMissing) {
  AdviceFacts facts = loader_of(8, 8, 0.02, 0.9, 0.08);
  facts.verdict = Bottleneck::transfer;
  facts.times.model = facts.times.loader = exactly(10);
  facts.times.together = exactly(20);
  facts.times.transfer = exactly(9);
  facts.times.sending = {false, "fp32"};
  const auto advice = advise(facts);
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_EQ(advice[0].kind, AdviceKind::upload_bytes);
  EXPECT_EQ(advice[1].kind, AdviceKind::pin_memory);
  facts.times.sending = {true, "uint8"};
  EXPECT_TRUE(advise(facts).empty());
}

TEST(AdviceTest, CopiesThatAreHiddenInPartPromiseNoMoreThanBothPartsLeave) {
  AdviceFacts facts = loader_of(16, 16, 0.02, 0.9, 0.08);
  facts.verdict = Bottleneck::transfer;
  facts.times.loader = exactly(17.8);  // as measured on an H200; with bytes it took 20.6
  facts.times.model = exactly(20.4);
  facts.times.together = exactly(25.3);
  facts.times.transfer = exactly(21.6);
  facts.times.sending = {false, "fp32"};
  const auto advice = advise(facts);
  ASSERT_EQ(advice.size(), 2U);
  for (const Advice& one : advice) {
    EXPECT_GT(one.gain.low, 1.1);
    EXPECT_LE(one.gain.high, 25.3 / 20.4);
  }
}

TEST(AdviceTest, FloatsForADeviceAreMendedByBytes) {
  AdviceFacts facts = loader_of(2, 2, 0.02, 0.2, 0.78);
  facts.probed.as_bytes = to(0.7);
  EXPECT_TRUE(advise(facts).empty());  // whoever computes on these cores wants floats
  facts.setting.hands_floats = true;
  const auto advice = advise(facts);
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].kind, AdviceKind::upload_bytes);
  EXPECT_EQ(advice[0].how, "--upload uint8");
  // 0.3 of 98 % is gone: 10 ms become 7.06; the lower end promises 0.8 of that gain.
  EXPECT_NEAR(advice[0].gain.low, 1 + 0.8 * (10 / (10 * (1 - 0.98 * (1 - 0.7 * 1.02))) - 1), 0.01);
  facts.probed.as_bytes = to(0.99);
  EXPECT_TRUE(advise(facts).empty());
}

TEST(AdviceTest, AStepOnTheSameCoresGainsWhatTheyAreSpared) {
  AdviceFacts facts = loader_of(2, 2, 0.02, 0.9, 0.08);
  facts.setting.step_on_cores = true;
  facts.times.model = exactly(10);
  facts.times.together = exactly(20);  // both want all cores
  facts.verdict = Bottleneck::interference;
  facts.probed.scaled = to(0.5);
  const auto advice = advise(facts);
  ASSERT_EQ(advice.size(), 1U);
  // 10 ms of both cores load a batch, half of 98 % is spared: 20 become 15.1.
  EXPECT_NEAR(advice[0].gain.low, 1 + 0.8 * (20 / 15.1 - 1), 0.02);
  EXPECT_LT(advice[0].gain.high, 1.4);
  // Others hold the cores: both need 30 ms of core time, of which 20 are the loader's and half of
  // those are spared, a third of the step.
  facts.together_cpu_ms = 30;
  const auto busy = advise(facts);
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_DOUBLE_EQ(busy[0].gain.low, advice[0].gain.low);
  EXPECT_NEAR(busy[0].gain.high, 1 + 1.15 * (20 / (20 * (1 - 0.98 * 0.51 * 20 / 30)) - 1), 0.03);
}

/// Whatever the shares: no advice beyond what its stage could ever give, none that promises little.
TEST(AdviceTest, NothingIsSaidThatCannotHelp) {
  Rng rng(RngKey{});
  for (int i = 0; i < 20'000; ++i) {
    const double read = rng.uniform(), decode = rng.uniform(), augment = rng.uniform();
    const double sum = read + decode + augment;
    const auto cores = static_cast<unsigned>(1 + rng.below(16));
    AdviceFacts facts = loader_of(static_cast<int>(1 + rng.below(32)), cores, read / sum,
                                  decode / sum, augment / sum, rng.uniform());
    facts.setting.remote = rng.below(2) == 1;
    facts.setting.direct = !facts.setting.remote && rng.below(2) == 1;
    facts.setting.step_on_cores = rng.below(2) == 1;
    facts.times.model = exactly(rng.uniform() * 20);
    facts.times.together =
        exactly(std::max(facts.times.model.point, facts.times.loader.point) * (1 + rng.uniform()));
    facts.verdict = attribute(facts.times).verdict;
    facts.setting.hands_floats = rng.below(2) == 1;
    facts.probed = {to(rng.uniform()), to(rng.uniform(), rng.uniform()), 256, to(rng.uniform())};
    const double most = facts.times.together.point / std::max(facts.times.model.point, 0.1);
    for (const Advice& one : advise(facts)) {
      EXPECT_NE(facts.verdict, Bottleneck::compute);
      EXPECT_GE(one.gain.low, kLeastGain);
      EXPECT_GE(one.gain.high, one.gain.low);
      EXPECT_LE(one.gain.low, most) << advice_line(one);
    }
  }
}

}  // namespace
}  // namespace sluice::analysis::advice_test
