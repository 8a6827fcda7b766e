// sluice/scenario/spin.h - a fixed amount of work that fits a second-level cache: what `sluice
// spin` does, and the subject of `sluice selftest`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::scenario {

/// The case of a worker that spins; its spec: {"rounds": of one pass}.
inline constexpr const char* kSpinCase = "selftest/spin";

class Spin {
 public:
  /// One round is done at once, so that every page was touched.
  Spin();

  /// A round reads, mixes and writes all 512 KiB.
  void turn(int rounds);

  /// Of all words, 16 hex digits: depends on the rounds done so far alone.
  [[nodiscard]] std::string digest() const;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace sluice::scenario
