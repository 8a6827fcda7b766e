// tests/train/cuda_elementwise.h - what the tests of the elementwise CUDA kernels share: buffers at
// odd addresses, sums that may cancel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/train/cuda_support.h"
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

}  // namespace sluice::train::cuda::testing
