// sluice/train/world/gather.cpp - numbers cut into pieces that a float holds exactly; each rank
// fills its own place, and the others add zeros.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/gather.h"

#include <bit>
#include <cstdint>

namespace sluice::train {
namespace {

constexpr std::size_t kPieces = 4;  // of 16 bits

}  // namespace

Result<std::vector<double>> gather(Communicator& world, std::span<const double> mine) {
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<float> pieces(ranks * mine.size() * kPieces, 0.0F);
  float* place = pieces.data() + static_cast<std::size_t>(world.rank()) * mine.size() * kPieces;
  for (const double value : mine)
    for (std::size_t i = 0; i < kPieces; ++i)
      *place++ = static_cast<float>(std::bit_cast<std::uint64_t>(value) >> (16 * i) & 0xFFFF);
  SLUICE_CHECK(world.start_sum(pieces));
  SLUICE_CHECK(world.finish());
  std::vector<double> all;
  for (std::size_t at = 0; at < pieces.size(); at += kPieces) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kPieces; ++i)
      bits |= static_cast<std::uint64_t>(pieces[at + i]) << (16 * i);
    all.push_back(std::bit_cast<double>(bits));
  }
  return all;
}

Result<std::vector<double>> sum_exactly(Communicator& world, std::span<const double> mine) {
  SLUICE_TRY(const std::vector<double> all, gather(world, mine));
  std::vector<double> sums(mine.size(), 0.0);
  for (std::size_t i = 0; i < all.size(); ++i)
    sums[i % mine.size()] += all[i];
  return sums;
}

}  // namespace sluice::train
