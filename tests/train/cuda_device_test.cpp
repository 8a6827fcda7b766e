// tests/train/cuda_device_test.cpp - a device through its table: facts, copies, events, graphs, and
// what it says when something fails.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/cuda_support.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

namespace sluice::train::cuda::testing::cuda_device_test {
namespace {

using CudaDevice = OnDevice;

std::string message() {
  return OnDevice::table().message(OnDevice::device());
}

/// Bytes on the device.
class Bytes {
 public:
  explicit Bytes(std::size_t count) {
    EXPECT_EQ(OnDevice::table().allocate(OnDevice::device(), count, &memory_), kDone) << message();
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { OnDevice::table().release(OnDevice::device(), memory_); }
  [[nodiscard]] char* at(std::size_t offset = 0) const {
    return static_cast<char*>(memory_) + offset;
  }

 private:
  void* memory_ = nullptr;
};

std::vector<char> random_bytes(Draws& draws, std::size_t count) {
  std::vector<char> made(count);
  for (char& byte : made)
    byte = static_cast<char>(draws.below(256));
  return made;
}

int upload(char* to, const std::vector<char>& from) {
  return OnDevice::table().upload(OnDevice::device(), to, from.data(), from.size());
}

std::vector<char> download(const char* from, std::size_t count) {
  std::vector<char> got(count, 'x');
  EXPECT_EQ(OnDevice::table().download(OnDevice::device(), got.data(), from, count), kDone)
      << message();
  return got;
}

TEST_F(CudaDevice, FactsAreThoseOfADevice) {
  DeviceFacts facts{};
  char why[256] = "";
  ASSERT_EQ(table().facts(0, &facts, why, sizeof why), kDone) << why;
  EXPECT_GE(facts.major, 8);
  EXPECT_GT(facts.multiprocessors, 0);
  EXPECT_GT(std::strlen(facts.name), 0U);
  EXPECT_GE(facts.driver, 12000);
  EXPECT_GE(facts.runtime, 12000);
  EXPECT_GT(facts.total_bytes, std::size_t{1} << 30);
  EXPECT_LE(facts.free_bytes, facts.total_bytes);
  EXPECT_GT(facts.l2_bytes, 0U);
  EXPECT_NE(std::string(table().library).find("cuBLASLt"), std::string::npos) << table().library;
  EXPECT_EQ(table().own_bytes(device()), std::size_t{128} << 20);
}

TEST_F(CudaDevice, ADeviceThatIsNotThereIsSaid) {
  Device* none = nullptr;
  char why[256] = "";
  EXPECT_EQ(table().open(4711, &none, why, sizeof why), kFailed);
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(std::string(why).find("cudaErrorInvalidDevice"), std::string::npos) << why;
  const auto facts = device_facts(4711);
  ASSERT_FALSE(facts.has_value());
  EXPECT_NE(facts.error().message.find("cuda:4711"), std::string::npos) << facts.error().message;
}

TEST_F(CudaDevice, CopiesOfAnySizeComeBack) {
  Draws draws(501);
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{255}, std::size_t{4097},
        4 * kMiB - 1, 4 * kMiB, 4 * kMiB + 1, 9 * kMiB + 5, 41 * kMiB + 3}) {
    SCOPED_TRACE(count);
    const std::size_t offset = static_cast<std::size_t>(draws.integer(0, 17));
    const std::vector<char> sent = random_bytes(draws, count);
    const Bytes memory(count + 64);
    const std::vector<char> before(count + 64, 'g');
    ASSERT_EQ(upload(memory.at(), before), kDone) << message();
    ASSERT_EQ(upload(memory.at(offset), sent), kDone) << message();
    std::vector<char> expected = before;
    std::copy(sent.begin(), sent.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    EXPECT_TRUE(download(memory.at(), count + 64) == expected);
  }
}

TEST_F(CudaDevice, WhatWasUploadedMayBeOverwritten) {
  Draws draws(502);
  constexpr int kCopies = 300;
  std::vector<std::vector<char>> sent;
  std::vector<std::size_t> offsets{0};
  for (int i = 0; i < kCopies; ++i) {
    // Small ones among large: the ring of pinned memory turns many times.
    const std::int64_t most = draws.integer(0, 9) == 0 ? std::int64_t{3} << 20 : 5000;
    sent.push_back(random_bytes(draws, static_cast<std::size_t>(draws.integer(1, most))));
    offsets.push_back(offsets.back() + sent.back().size());
  }
  const Bytes memory(offsets.back()), other(std::size_t{64} << 20);
  std::vector<char> scratch;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    // The device is busy, so that copies wait for it.
    if (i % 30 == 0) {
      const KernelCall clear = ClearCall{other.at(), std::size_t{64} << 20};
      ASSERT_EQ(table().launch(device(), &clear), kDone) << message();
    }
    scratch = sent[i];
    ASSERT_EQ(upload(memory.at(offsets[i]), scratch), kDone) << message();
    std::fill(scratch.begin(), scratch.end(), '!');
  }
  const std::vector<char> got = download(memory.at(), offsets.back());
  for (std::size_t i = 0; i < sent.size(); ++i)
    ASSERT_EQ(std::memcmp(got.data() + offsets[i], sent[i].data(), sent[i].size()), 0)
        << "copy " << i;
}

TEST_F(CudaDevice, EventsMeasureOutsideAndInsideAGraph) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  const Bytes memory(kBytes);
  const KernelCall clear = ClearCall{memory.at(), kBytes};
  const auto timed = [&](int first) {
    ASSERT_EQ(table().record(device(), first), kDone) << message();
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(table().launch(device(), &clear), kDone) << message();
    ASSERT_EQ(table().record(device(), first + 1), kDone) << message();
  };
  timed(0);
  double direct = 0;
  ASSERT_EQ(table().elapsed(device(), 0, 1, &direct), kDone) << message();
  EXPECT_GT(direct, 1e3);  // nanoseconds: a gigabyte takes far longer
  EXPECT_LT(direct, 1e9);

  ASSERT_EQ(table().begin_capture(device()), kDone) << message();
  timed(7);
  Graph* graph = nullptr;
  ASSERT_EQ(table().end_capture(device(), &graph), kDone) << message();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(table().run_graph(device(), graph), kDone) << message();
    double inside = 0;
    ASSERT_EQ(table().synchronize(device(), 30), kDone) << message();
    ASSERT_EQ(table().elapsed(device(), 7, 8, &inside), kDone) << message();
    EXPECT_GT(inside, 1e3);
    EXPECT_LT(inside, 1e9);
  }
  table().drop_graph(device(), graph);
}

TEST_F(CudaDevice, AGraphDoesWhatTheCallsDo) {
  Draws draws(503);
  constexpr std::int64_t m = 200, n = 96, k = 64;
  const std::vector<Bf16> a = draws.normals<Bf16>(m * k), b = draws.normals<Bf16>(k * n);
  const std::vector<float> start = draws.normals<float>(m * n);
  const Buffer<Bf16> a_memory(a), b_memory(b);
  const Buffer<float> direct(start), replayed(start);
  const auto product = [&](const Buffer<float>& d) {
    return Product{.m = m,
                   .n = n,
                   .k = k,
                   .lda = k,
                   .ldb = n,
                   .ldd = n,
                   .d = d,
                   .a = a_memory,
                   .b = b_memory,
                   .c = d};
  };
  const Product on_direct = product(direct), on_replayed = product(replayed);
  for (int i = 0; i < 3; ++i)
    run(on_direct);
  ASSERT_EQ(table().begin_capture(device()), kDone) << message();
  ASSERT_EQ(table().multiply(device(), &on_replayed), kDone) << message();
  Graph* graph = nullptr;
  ASSERT_EQ(table().end_capture(device(), &graph), kDone) << message();
  EXPECT_TRUE(replayed.values() == start) << "captured calls must not run";
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(table().run_graph(device(), graph), kDone) << message();
  EXPECT_TRUE(replayed.values() == direct.values());
  table().drop_graph(device(), graph);
}

TEST_F(CudaDevice, WhatCannotBeCapturedIsRefusedAndTheCaptureGoesOn) {
  const Bytes memory(4096);
  const Buffer<float> values(std::vector<float>(64, 1.0F));
  const KernelCall clear = ClearCall{memory.at(), 4096};
  ASSERT_EQ(table().begin_capture(device()), kDone) << message();
  EXPECT_EQ(upload(memory.at(), {'a'}), kFailed);
  EXPECT_NE(message().find("upload: not while calls are captured"), std::string::npos) << message();
  EXPECT_EQ(table().synchronize(device(), 1), kFailed);
  EXPECT_EQ(table().begin_capture(device()), kFailed);
  double nanoseconds = 0;
  EXPECT_EQ(table().elapsed(device(), 0, 0, &nanoseconds), kFailed);
  const Product product{.m = 3,
                        .n = 5,
                        .k = 7,
                        .lda = 7,
                        .ldb = 5,
                        .ldd = 5,
                        .d = values,
                        .a = values,
                        .b = values,
                        .c = {}};
  EXPECT_EQ(table().multiply(device(), &product), kFailed);
  EXPECT_NE(message().find("3 x 5 x 7"), std::string::npos) << message();
  ASSERT_EQ(table().launch(device(), &clear), kDone) << message();
  Graph* graph = nullptr;
  ASSERT_EQ(table().end_capture(device(), &graph), kDone) << message();
  ASSERT_EQ(upload(memory.at(), std::vector<char>(4096, 'a')), kDone) << message();
  ASSERT_EQ(table().run_graph(device(), graph), kDone) << message();
  EXPECT_TRUE(download(memory.at(), 4096) == std::vector<char>(4096, '\0'));
  table().drop_graph(device(), graph);
  EXPECT_EQ(table().end_capture(device(), &graph), kFailed);
}

TEST_F(CudaDevice, OutOfMemoryIsSaidAndTheDeviceWorksOn) {
  DeviceFacts facts{};
  char why[256] = "";
  ASSERT_EQ(table().facts(0, &facts, why, sizeof why), kDone) << why;
  void* memory = &facts;
  EXPECT_EQ(table().allocate(device(), facts.total_bytes * 4, &memory), kOutOfMemory);
  EXPECT_EQ(memory, nullptr);
  EXPECT_NE(message().find("cudaErrorMemoryAllocation"), std::string::npos) << message();
  EXPECT_NE(message().find("bytes asked for"), std::string::npos) << message();
  const Bytes small(100);
  const KernelCall clear = ClearCall{small.at(), 100};
  EXPECT_EQ(table().launch(device(), &clear), kDone) << message();  // no error is left over
  EXPECT_TRUE(download(small.at(), 100) == std::vector<char>(100, '\0'));
}

TEST_F(CudaDevice, AWaitEndsAtItsLimit) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const Bytes memory(kBytes);
  const KernelCall clear = ClearCall{memory.at(), kBytes};
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(table().launch(device(), &clear), kDone) << message();
  EXPECT_EQ(table().synchronize(device(), 0), kHung);
  EXPECT_NE(message().find("still busy"), std::string::npos) << message();
  EXPECT_EQ(table().synchronize(device(), 60), kDone) << message();
}

TEST_F(CudaDevice, EventsThatWereNotRecordedAreNamed) {
  double nanoseconds = 1;
  EXPECT_EQ(table().elapsed(device(), 900, 901, &nanoseconds), kFailed);
  EXPECT_EQ(message(), "elapsed: event 900 was never recorded");
  EXPECT_EQ(nanoseconds, 0);
  EXPECT_EQ(table().record(device(), -1), kFailed);
}

TEST_F(CudaDevice, RangesMayBeNamedWithoutAProfiler) {
  table().push_range("a range");
  table().pop_range();
}

/// In a process of its own: a kernel that read a wrong address breaks the device for the whole
/// process.
TEST_F(CudaDevice, AfterAnErrorThatStaysNothingCrashes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto break_it = [] {
    const Table& calls = *library().value();
    Device* broken = nullptr;
    char why[256] = "";
    if (calls.open(0, &broken, why, sizeof why) != kDone) std::exit(2);
    auto* wrong = reinterpret_cast<float*>(std::uintptr_t{0x7000});
    const KernelCall gelu = GeluCall{{wrong, Dtype::f32}, {wrong, Dtype::f32}, nullptr, 1, 1024};
    int result = calls.launch(broken, &gelu);
    if (result == kDone) result = calls.synchronize(broken, 30);
    if (result != kFailed) std::exit(3);
    const std::string first = calls.message(broken);
    if (first.find("cudaErrorIllegalAddress") == std::string::npos) std::exit(4);
    void* memory = nullptr;
    if (calls.allocate(broken, 1024, &memory) == kDone) std::exit(5);
    char byte = 0;
    if (calls.download(broken, &byte, wrong, 1) == kDone) std::exit(6);
    calls.launch(broken, &gelu);
    calls.record(broken, 0);
    calls.close(broken);
    std::exit(0);
  };
  EXPECT_EXIT(break_it(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice::train::cuda::testing::cuda_device_test
