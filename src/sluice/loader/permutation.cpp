// sluice/loader/permutation.cpp - a shuffled order that is computed: Feistel rounds, cycle walking.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/permutation.h"

#include <bit>
#include <cassert>

namespace sluice::loader {

Permutation::Permutation(std::uint64_t size, const RngKey& key) : size_(size) {
  assert(size > 0);
  const unsigned bits = size > 1 ? static_cast<unsigned>(std::bit_width(size - 1)) : 1;
  half_bits_ = (bits + 1) / 2;
  half_mask_ = (std::uint64_t{1} << half_bits_) - 1;
  Rng rng(key);
  for (std::uint64_t& round_key : keys_)
    round_key = rng.next_u64();
}

std::uint64_t Permutation::round(std::uint64_t half, std::size_t round) const {
  // The finaliser of splitmix64: every bit of the sum changes half of the result's.
  std::uint64_t x = half + keys_[round];
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EB;
  return (x ^ (x >> 31U)) & half_mask_;
}

std::uint64_t Permutation::forward(std::uint64_t x) const {
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & half_mask_;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const std::uint64_t next = left ^ round(right, i);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::backward(std::uint64_t x) const {
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & half_mask_;
  for (std::size_t i = kRounds; i-- > 0;) {
    const std::uint64_t previous = right ^ round(left, i);
    right = left;
    left = previous;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t place) const {
  assert(place < size_);
  do {
    place = forward(place);
  } while (place >= size_);
  return place;
}

std::uint64_t Permutation::inverse(std::uint64_t value) const {
  assert(value < size_);
  do {
    value = backward(value);
  } while (value >= size_);
  return value;
}

}  // namespace sluice::loader
