// sluice/storage/format/checksum.cpp - four independent lanes of rotate and multiply, mixed at the
// end.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::storage {
namespace {

// Odd, so that multiplying is a bijection; digits of e.
constexpr std::array<std::uint64_t, 4> kMultiplier{0xb7e151628aed2a6bU, 0xbf7158809cf4f3c7U,
                                                   0x62e7160f38b4da57U, 0xa784d9045190cfefU};
constexpr std::uint64_t kWordMultiplier = 0x324e7738926cfbe5U;

std::uint64_t load_little_endian(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// Multiplied before and after the rotation: with one of both, a flip of the top bit would move to
/// one bit of the next word, where another flip takes it back.
std::uint64_t step(std::uint64_t lane, std::uint64_t word, std::uint64_t multiplier) {
  return std::rotl(lane ^ (word * kWordMultiplier), 29) * multiplier;
}

/// Every bit of the input reaches every bit of the output.
std::uint64_t mix(std::uint64_t value) {
  for (const std::uint64_t multiplier : {kMultiplier[0], kMultiplier[1]}) {
    value ^= value >> 32U;
    value *= multiplier;
  }
  return value ^ (value >> 29U);
}

}  // namespace

void Checksum::stripe(const std::byte* at) {
  for (std::size_t lane = 0; lane < 4; ++lane)
    lanes_[lane] = step(lanes_[lane], load_little_endian(at + 8 * lane), kMultiplier[lane]);
}

void Checksum::update(std::span<const std::byte> bytes) {
  total_bytes_ += bytes.size();
  if (pending_size_ != 0) {
    const std::size_t n = std::min(kStripe - pending_size_, bytes.size());
    std::copy_n(bytes.data(), n, pending_.data() + pending_size_);
    pending_size_ += n;
    bytes = bytes.subspan(n);
    if (pending_size_ < kStripe) return;
    stripe(pending_.data());
    pending_size_ = 0;
  }
  // Copies, so that the compiler may keep the lanes in registers.
  std::array<std::uint64_t, 4> lanes = lanes_;
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size() / kStripe * kStripe;
  for (; at != end; at += kStripe) {
    for (std::size_t lane = 0; lane < 4; ++lane)
      lanes[lane] = step(lanes[lane], load_little_endian(at + 8 * lane), kMultiplier[lane]);
  }
  lanes_ = lanes;
  pending_size_ = bytes.size() % kStripe;
  std::copy_n(end, pending_size_, pending_.data());
}

std::uint64_t Checksum::value() {
  if (pending_size_ != 0) {
    std::fill(pending_.begin() + static_cast<std::ptrdiff_t>(pending_size_), pending_.end(),
              std::byte{0});
    stripe(pending_.data());
  }
  std::uint64_t value = mix(total_bytes_);
  for (const std::uint64_t lane : lanes_)
    value = mix(value ^ lane);
  return value;
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  Checksum checksum;
  checksum.update(bytes);
  return checksum.value();
}

}  // namespace sluice::storage
