// sluice/core/rng.cpp - Philox4x32-10 and the draws made from it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"

#include <cassert>
#include <cmath>
#include <numbers>

namespace sluice {
namespace {

constexpr std::uint32_t low_word(std::uint64_t v) {
  return static_cast<std::uint32_t>(v);
}
constexpr std::uint32_t high_word(std::uint64_t v) {
  return static_cast<std::uint32_t>(v >> 32U);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;  // golden ratio
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {high_word(product1) ^ counter[1] ^ key[0], low_word(product1),
               high_word(product0) ^ counter[3] ^ key[1], low_word(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// Key mixing, frozen: Philox itself is the hash, run twice.
//   h = philox(counter {seed low, seed high, epoch low, epoch high}, key {index low, index high})
//   s = philox(counter h,                                            key {repeat, stage})
// The stream's key is (s0, s1) and its counter starts at (0, 0, s2, s3); the first two words count
// blocks. Philox is a bijection of the counter, so two (seed, epoch) of one index can never meet;
// all 128 bits of s tell streams apart.
Rng::Rng(const RngKey& key) {
  const auto hash = philox4x32_10(
      {low_word(key.seed), high_word(key.seed), low_word(key.epoch), high_word(key.epoch)},
      {low_word(key.index), high_word(key.index)});
  const auto start = philox4x32_10(hash, {key.repeat, key.stage});
  key_ = {start[0], start[1]};
  counter_ = {0, 0, start[2], start[3]};
}

std::uint32_t Rng::next_u32() {
  if (used_ == block_.size()) {
    block_ = philox4x32_10(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t Rng::next_u64() {
  const std::uint64_t low = next_u32();
  return low | (std::uint64_t{next_u32()} << 32U);
}

double Rng::uniform() {
  return static_cast<double>(next_u64() >> 11U) * 0x1p-53;
}

double Rng::uniform(double low, double high) {
  const double value = low + (high - low) * uniform();
  return value < high ? value : std::nextafter(high, low);  // the sum may round up to `high`
}

std::uint64_t Rng::below(std::uint64_t bound) {
  assert(bound > 0);
  // The lowest 2^64 mod bound values are drawn again: what is left is a whole number of cycles.
  const std::uint64_t refused = (std::uint64_t{0} - bound) % bound;
  std::uint64_t value = next_u64();
  while (value < refused)
    value = next_u64();
  return value % bound;
}

double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));  // 1 - u: never log(0)
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace sluice
