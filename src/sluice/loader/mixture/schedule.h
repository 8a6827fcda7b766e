// sluice/loader/mixture/schedule.h - which source gives the next block: by weight, among those that
// are ready.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::loader::mixture {

enum class Mix : std::uint8_t {
  random,   // a weighted draw per block
  deficit,  // whose next block is due first; who was not ready is repaid
};
const char* to_string(Mix mix);

/// Pure: no clock, no threads; the same calls give the same answers.
///
/// `deficit` is Tijdeman's rule for the chairman assignment problem (Discrete Mathematics 32,
/// 1980): at block t those sources count whose share of t blocks is at least 1/(2n - 2) ahead of
/// what they have, and of them the one whose next block is due first. While all are ready, |blocks
/// - weight x t| <= 1 - 1/(2n - 2) for every source at every t, so a realised share is within one
/// block of the requested one: max_block / total. A source that is not ready stays due and is
/// served as soon as it is.
class Schedule {
 public:
  /// Weights above 0; they are divided by their sum.
  Schedule(std::vector<double> weights, Mix mix, std::uint64_t seed);

  /// The source whose turn it is, whether it is ready or not.
  [[nodiscard]] std::size_t due() const;
  /// The one to take now, of those with a block; nothing: none has. Only sources that are not left
  /// out are asked for.
  [[nodiscard]] std::optional<std::size_t> choose(std::span<const char> ready) const;
  /// A block of `source` was taken.
  void take(std::size_t source);
  /// The source has ended: the others share what is to come.
  void leave_out(std::size_t source);

  [[nodiscard]] std::uint64_t blocks() const { return total_; }
  [[nodiscard]] const std::vector<std::uint64_t>& taken() const { return taken_; }
  [[nodiscard]] const std::vector<double>& shares() const { return shares_; }

  [[nodiscard]] Json state() const;
  Status restore(const Json& state);

 private:
  [[nodiscard]] std::optional<std::size_t> earliest(std::span<const char> ready) const;
  [[nodiscard]] std::optional<std::size_t> draw(std::span<const char> ready) const;
  void share_out();

  std::vector<double> weights_;  // as given
  std::vector<char> out_;
  std::vector<double> shares_;  // of what is to come; 0: left out
  Mix mix_;
  std::uint64_t seed_;
  std::uint64_t total_ = 0;            // blocks taken
  std::vector<std::uint64_t> taken_;   // of each
  std::vector<std::uint64_t> before_;  // taken when the shares last changed
  std::uint64_t total_before_ = 0;
};

}  // namespace sluice::loader::mixture
