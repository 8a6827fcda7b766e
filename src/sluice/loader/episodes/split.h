// sluice/loader/episodes/split.h - which episodes of a data set: "train", "train[:90%]",
// "train[100:200]".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::loader::episodes {

/// Episodes [first, last) of a split.
struct EpisodeRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] std::uint64_t size() const { return last - first; }
};

/// One split, or a slice of it, as TFDS writes them: numbers of episodes or percents, negative ones
/// from the end. What TFDS also knows and we do not (several splits with '+', shards as unit) is
/// refused by name.
struct Split {
  std::string name;  // "train"
  bool percent = false;
  std::optional<double> from{};
  std::optional<double> to{};

  static Result<Split> parse(std::string_view text);
  /// Of a split of so many episodes; percents are rounded to the nearest, halves to even, as TFDS
  /// does, so that train[:p%] and train[p%:] never share an episode. Bounds outside are an error.
  [[nodiscard]] Result<EpisodeRange> range(std::uint64_t episodes) const;
};

}  // namespace sluice::loader::episodes
