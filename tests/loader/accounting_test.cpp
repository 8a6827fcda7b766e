// tests/loader/accounting_test.cpp - every nanosecond of a scripted clock is somewhere; traces.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/accounting.h"

#include "sluice/core/file.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/trace.h"

#include <gtest/gtest.h>

#include "tests/loader/support.h"
#include <filesystem>
#include <memory>

namespace sluice::loader::accounting_test {
namespace {

using testing::must_make;
using testing::NumberDataset;
using testing::NumberRecipe;
using testing::take;

TEST(StageClock, AttributesTimeToTheStageItWasIn) {
  ScriptedClock clock({1000, 5, 20, 300, 7, 40, 2, 100});
  WorkerCounters counters;
  StageClock time(clock, counters);  // 1000
  time.enter(Stage::read);           // 5 other
  EXPECT_EQ(counters.now_in(), static_cast<int>(Stage::read));
  time.enter(Stage::decode);   // 20 read
  time.enter(Stage::augment);  // 300 decode
  time.enter(Stage::collate);  // 7 augment
  time.leave();                // 40 collate
  time.wait_begins();          // 2 other
  time.wait_ends();            // 100 wait
  EXPECT_EQ(counters.now_in(), WorkerCounters::kIdle);
  const WorkerTotals totals = counters.totals();
  EXPECT_EQ(totals.stages.busy(Stage::read), 20);
  EXPECT_EQ(totals.stages.busy(Stage::decode), 300);
  EXPECT_EQ(totals.stages.busy(Stage::augment), 7);
  EXPECT_EQ(totals.stages.busy(Stage::collate), 40);
  EXPECT_EQ(totals.other_ns, 7);
  EXPECT_EQ(totals.wait_ns, 100);
  EXPECT_EQ(totals.stages.all_ns() + totals.other_ns + totals.wait_ns, 474);
}

/// One nanosecond passes at every reading.
class TickingClock final : public Clock {
 public:
  std::int64_t now_ns() override { return ++now_; }

 private:
  std::int64_t now_ = 0;
};

TEST(Accounting, SumsOfALoaderInTheCaller) {
  TickingClock clock;
  LoaderOptions options;
  options.batch_size = 4;
  options.workers = 0;
  options.clock = &clock;
  const auto loader =
      must_make(std::make_shared<NumberDataset>(12), std::make_shared<NumberRecipe>(), options);
  (void)take(*loader);
  loader->account(Stage::list, 77);
  loader->account(Stage::transfer, 5, 64);
  loader->stop();
  const LoaderStats stats = loader->stats();
  ASSERT_EQ(stats.workers.size(), 1U);
  EXPECT_EQ(stats.workers[0].samples, 12U);
  const StageTotals all = stats.stages();
  for (const Stage stage : {Stage::read, Stage::decode, Stage::augment, Stage::collate})
    EXPECT_EQ(all.busy(stage), 12) << to_string(stage);  // one tick per border
  EXPECT_EQ(all.busy(Stage::list), 77);
  EXPECT_EQ(all.busy(Stage::transfer), 5);
  EXPECT_EQ(all.bytes[static_cast<std::size_t>(Stage::read)], 12U * 8);
  EXPECT_EQ(all.bytes[static_cast<std::size_t>(Stage::collate)], 12U * 16);
  EXPECT_EQ(stats.batches, 3U);
  EXPECT_EQ(stats.samples, 12U);
  EXPECT_EQ(stats.pinning, "not pinned: not asked for");
  EXPECT_EQ(stats.ring_slots, 2);
  EXPECT_LE(stats.empty_ns, stats.running_ns);
  EXPECT_GE(stats.readiness(), 0.0);
  EXPECT_EQ(to_json(stats)["stages"]["read"]["bytes"], 96);
}

TEST(Accounting, SaysWhyMemoryIsNotPinned) {
  LoaderOptions options;
  options.batch_size = 4;
  options.pin_memory = true;
  const auto loader =
      must_make(std::make_shared<NumberDataset>(12), std::make_shared<NumberRecipe>(), options);
  EXPECT_EQ(loader->stats().pinning, "not pinned: no CUDA");
}

class CountingAllocator final : public PinnedAllocator {
 public:
  Result<std::span<std::byte>> allocate(std::size_t bytes) override {
    live += bytes;
    return std::span(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), bytes);
  }
  void free(std::span<std::byte> memory) override {
    live -= memory.size();
    std::free(memory.data());
  }
  std::size_t live = 0;
};

TEST(Accounting, TakesPinnedMemoryWhereThereIsSome) {
  const auto allocator = std::make_shared<CountingAllocator>();
  LoaderOptions options;
  options.batch_size = 4;
  options.pin_memory = true;
  options.pinned_allocator = allocator;
  {
    const auto loader =
        must_make(std::make_shared<NumberDataset>(12), std::make_shared<NumberRecipe>(), options);
    EXPECT_EQ(loader->stats().pinning, "pinned");
    EXPECT_EQ(allocator->live, 2U * 4096);
    auto batch = loader->next();
    ASSERT_TRUE(batch && *batch);
    EXPECT_TRUE((*batch)->pinned());
  }
  EXPECT_EQ(allocator->live, 0U);
}

TEST(Readiness, IsTheShareOfTimeWithABatchReady) {
  LoaderStats stats;
  EXPECT_EQ(stats.readiness(), 0.0);
  EXPECT_EQ(stats.prefetch_efficiency(), 0.0);
  stats.running_ns = 1000;
  stats.empty_ns = 250;
  stats.batches = 10;
  stats.waited_batches = 4;
  stats.workers.resize(2);
  stats.workers[0].stages.busy_ns[2] = 900;
  stats.workers[1].stages.busy_ns[1] = 700;
  EXPECT_DOUBLE_EQ(stats.readiness(), 0.75);
  EXPECT_DOUBLE_EQ(stats.prefetch_efficiency(), 0.6);
  EXPECT_DOUBLE_EQ(stats.worker_efficiency(), 0.8);
}

TEST(SpanRing, KeepsTheLatest) {
  SpanRing ring(3);
  for (std::int64_t i = 0; i < 5; ++i)
    ring.add({i, i + 1, static_cast<std::uint64_t>(i), 1});
  const auto spans = ring.in_order();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans.front().sample, 2U);
  EXPECT_EQ(spans.back().sample, 4U);
  EXPECT_EQ(ring.added(), 5U);
}

TEST(Trace, HoldsTheSpansOfEveryWorker) {
  const auto path = std::filesystem::temp_directory_path() / "sluice_loader_trace_test.json";
  LoaderOptions options;
  options.batch_size = 4;
  options.workers = 2;
  options.trace_spans = 1000;
  const auto loader =
      must_make(std::make_shared<NumberDataset>(12), std::make_shared<NumberRecipe>(), options);
  (void)take(*loader);
  EXPECT_FALSE(loader->write_trace(path));  // still running
  loader->stop();
  ASSERT_TRUE(loader->write_trace(path));
  const Json trace = parse_json(read_text_file(path).value(), "trace").value();
  std::filesystem::remove(path);
  std::size_t decodes = 0, threads = 0, counters = 0;
  for (const Json& event : trace["traceEvents"]) {
    const std::string ph = event["ph"];
    threads += event["name"] == "thread_name" ? 1 : 0;
    counters += ph == "C" ? 1 : 0;
    if (ph != "X") continue;
    EXPECT_GE(event["ts"].get<double>(), 0.0);
    EXPECT_GE(event["dur"].get<double>(), 0.0);
    decodes += event["name"] == "decode" ? 1 : 0;
  }
  EXPECT_EQ(threads, 3U);  // consumer and two workers
  EXPECT_GE(decodes, 12U);
  EXPECT_GE(counters, 3U);
}

TEST(Trace, IsRefusedWithoutSpans) {
  LoaderOptions options;
  options.batch_size = 4;
  const auto loader =
      must_make(std::make_shared<NumberDataset>(12), std::make_shared<NumberRecipe>(), options);
  loader->stop();
  EXPECT_FALSE(loader->write_trace("unused.json"));
}

}  // namespace
}  // namespace sluice::loader::accounting_test
