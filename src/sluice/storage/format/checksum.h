// sluice/storage/format/checksum.h - a 64-bit checksum at memory speed, for bytes we wrote
// ourselves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::storage {

/// Finds torn, truncated, zeroed and flipped bytes; no defence against someone who wants to be
/// mistaken (Sha256 is). Every step is a bijection of lane and word, so a change of one word is
/// always seen. Frozen: files hold its values; the same on every machine.
/// update() any number of times, then value(), once.
class Checksum {
 public:
  void update(std::span<const std::byte> bytes);
  std::uint64_t value();

 private:
  static constexpr std::size_t kStripe = 32;  // four lanes of 8 bytes
  void stripe(const std::byte* at);

  std::array<std::uint64_t, 4> lanes_{0x243f6a8885a308d3U, 0x13198a2e03707344U, 0xa4093822299f31d0U,
                                      0x082efa98ec4e6c89U};  // digits of pi
  std::array<std::byte, kStripe> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_bytes_ = 0;
};

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace sluice::storage
