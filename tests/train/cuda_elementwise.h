// tests/train/cuda_elementwise.h - what the tests of the elementwise CUDA kernels share: buffers at
// odd addresses, timings against the copy rate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/train/cuda_support.h"
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sluice::train::cuda::testing {

/// Sizes are signed as in the shapes; vectors want them otherwise.
inline std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}
inline std::vector<double> zeros(std::int64_t count) {
  return std::vector<double>(at(count));
}

/// A Buffer whose values start `shift` elements late: what comes before must stay poisoned.
template <class T>
class Shifted {
 public:
  Shifted(const std::vector<T>& values, std::int64_t shift)
      : buffer_(with_front(values, shift)),
        shift_(shift),
        count_(static_cast<std::int64_t>(values.size())) {}
  Shifted(std::int64_t count, std::int64_t shift) : Shifted(poisoned<T>(count), shift) {}

  [[nodiscard]] T* data() const { return buffer_.data() + shift_; }
  operator Read() const { return {data(), dtype_of<T>()}; }     // NOLINT: records take it as it is
  operator Written() const { return {data(), dtype_of<T>()}; }  // NOLINT
  [[nodiscard]] std::vector<T> values() const {
    const std::vector<T> all = buffer_.values();
    EXPECT_TRUE(poisoned_outside(all, shift_, shift_ + count_)) << "written before the output";
    return slice(all, shift_, shift_ + count_);
  }

 private:
  static std::vector<T> with_front(const std::vector<T>& values, std::int64_t shift) {
    std::vector<T> all = poisoned<T>(shift);
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }
  Buffer<T> buffer_;
  std::int64_t shift_, count_;
};

/// Sums of two or more terms may cancel: Bf16 within its rounding or 2e-5, float as always.
template <class A>
void expect_sums(const std::vector<A>& got, const std::vector<double>& want,
                 const std::string& what) {
  if constexpr (std::same_as<A, Bf16>)
    EXPECT_EQ(beyond_bf16(got, want, 1, 2e-5), "") << what;
  else
    EXPECT_LE(relative_error(got, want), 1e-5) << what;
}

inline std::vector<double> doubles(const auto& values) {
  return converted<double>(values);
}

/// body(act, res) with a value of each type, for the three pairs.
template <class Body>
void each_pair(Body body) {
  body(float{}, float{});
  body(Bf16{}, float{});
  body(Bf16{}, Bf16{});
}

inline bool timing_wanted() {
  return std::getenv("SLUICE_TIME_KERNELS") != nullptr;  // NOLINT: one thread
}

/// Random, of any length, quickly: a stretch of draws again and again.
template <class T>
std::vector<T> many(std::int64_t count, std::uint64_t seed) {
  const std::vector<T> some = Draws(seed).normals<T>(std::min<std::int64_t>(count, 99'991));
  std::vector<T> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = some[i % some.size()];
  return made;
}

/// Prints microseconds of one call and its share of the copy rate, 3.84 TB/s. 20 launches in a
/// graph, taking the calls in turn; the fastest of 5 runs after 3.
inline void print_time(const std::string& what, const std::vector<KernelCall>& calls,
                       double bytes) {
  const Table& table = OnDevice::table();
  Device* device = OnDevice::device();
  constexpr int kLaunches = 20;
  const auto done = [&](int code) { ASSERT_EQ(code, kDone) << table.message(device); };
  for (const KernelCall& call : calls)
    done(table.launch(device, &call));
  done(table.begin_capture(device));
  done(table.record(device, 0));
  for (std::size_t i = 0; i < kLaunches; ++i)
    done(table.launch(device, &calls[i % calls.size()]));
  done(table.record(device, 1));
  Graph* graph = nullptr;
  done(table.end_capture(device, &graph));
  double best = 1e30;
  for (int run = 0; run < 8; ++run) {
    done(table.run_graph(device, graph));
    done(table.synchronize(device, 30));
    double nanoseconds = 0;
    done(table.elapsed(device, 0, 1, &nanoseconds));
    if (run >= 3) best = std::min(best, nanoseconds / kLaunches);
  }
  table.drop_graph(device, graph);
  std::printf("%-44s %9.1f us %9.1f MB %6.1f %% of 3.84 TB/s\n", what.c_str(), best / 1e3,
              bytes / 1e6, 100 * bytes / best / 3840);
}

}  // namespace sluice::train::cuda::testing
