// tests/train/cuda_support.h - one device for a test program, memory on it, calls of its kernels.
// Without a device every test is skipped, visibly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda/library.h"

#include <gtest/gtest.h>

#include "tests/train/support.h"
#include <cstring>
#include <utility>
#include <vector>

namespace sluice::train::cuda::testing {

using namespace sluice::train::testing;  // NOLINT: the tests of both backends share their words

template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::same_as<T, float>)
    return Dtype::f32;
  else
    return Dtype::bf16;
}

/// Test fixture: `device()` is open, or the test was skipped.
class OnDevice : public ::testing::Test {
 public:
  static const Table& table() { return *library().value(); }
  static Device* device() { return opened(); }

 protected:
  void SetUp() override {
    if (const auto facts = device_facts(0); !facts) GTEST_SKIP() << facts.error().message;
    ASSERT_NE(device(), nullptr);
  }
  static void run(const KernelCall& call) {
    ASSERT_EQ(table().launch(device(), &call), kDone) << table().message(device());
    ASSERT_EQ(table().synchronize(device(), 30), kDone) << table().message(device());
  }
  static void run(const Product& product) {
    ASSERT_EQ(table().multiply(device(), &product), kDone) << table().message(device());
    ASSERT_EQ(table().synchronize(device(), 30), kDone) << table().message(device());
  }

 private:
  static Device* opened() {
    static Device* device = [] {
      Device* made = nullptr;
      char why[256] = "";
      EXPECT_EQ(table().open(0, &made, why, sizeof why), kDone) << why;
      return made;
    }();
    return device;
  }
};

/// Values on the device. Its memory has kGuard poisoned elements before and after, which values()
/// checks: a kernel that writes outside is seen.
template <class T>
class Buffer {
 public:
  static constexpr std::size_t kGuard = 64;

  explicit Buffer(std::vector<T> values) : count_(values.size()) {
    std::vector<T> all = poisoned<T>(static_cast<std::int64_t>(count_ + 2 * kGuard));
    std::copy(values.begin(), values.end(), all.begin() + kGuard);
    void* memory = nullptr;
    EXPECT_EQ(OnDevice::table().allocate(OnDevice::device(), all.size() * sizeof(T), &memory),
              kDone)
        << OnDevice::table().message(OnDevice::device());
    start_ = static_cast<T*>(memory);
    EXPECT_EQ(
        OnDevice::table().upload(OnDevice::device(), start_, all.data(), all.size() * sizeof(T)),
        kDone);
  }
  /// All NaN.
  explicit Buffer(std::int64_t count) : Buffer(poisoned<T>(count)) {}
  Buffer(Buffer&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), count_(other.count_) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (start_ != nullptr) OnDevice::table().release(OnDevice::device(), start_);
  }

  [[nodiscard]] T* data() const { return start_ + kGuard; }
  operator Read() const { return {data(), dtype_of<T>()}; }     // NOLINT: records take it as it is
  operator Written() const { return {data(), dtype_of<T>()}; }  // NOLINT

  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> all(count_ + 2 * kGuard);
    EXPECT_EQ(
        OnDevice::table().download(OnDevice::device(), all.data(), start_, all.size() * sizeof(T)),
        kDone)
        << OnDevice::table().message(OnDevice::device());
    EXPECT_TRUE(poisoned_outside(all, kGuard, static_cast<std::int64_t>(kGuard + count_)))
        << "a kernel wrote outside of its output";
    return slice(all, kGuard, static_cast<std::int64_t>(kGuard + count_));
  }

 private:
  T* start_ = nullptr;
  std::size_t count_;
};

/// Plain structs in device memory, without guards.
template <class T>
class Records {
 public:
  explicit Records(const std::vector<T>& records) : count_(records.size()) {
    void* memory = nullptr;
    EXPECT_EQ(OnDevice::table().allocate(OnDevice::device(),
                                         std::max<std::size_t>(1, count_) * sizeof(T), &memory),
              kDone);
    start_ = static_cast<T*>(memory);
    write(records);
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records() { OnDevice::table().release(OnDevice::device(), start_); }
  void write(const std::vector<T>& records) const {
    EXPECT_EQ(
        OnDevice::table().upload(OnDevice::device(), start_, records.data(), count_ * sizeof(T)),
        kDone);
  }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> got(count_);
    EXPECT_EQ(
        OnDevice::table().download(OnDevice::device(), got.data(), start_, count_ * sizeof(T)),
        kDone);
    return got;
  }
  [[nodiscard]] T* data() const { return start_; }

 private:
  T* start_ = nullptr;
  std::size_t count_;
};
using Integers = Records<std::int32_t>;

}  // namespace sluice::train::cuda::testing
