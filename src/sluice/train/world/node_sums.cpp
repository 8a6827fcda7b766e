// sluice/train/world/node_sums.cpp - chunks shown, added up, taken: each when all ranks are so far.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/node_sums.h"

#include <algorithm>
#include <array>
#include <new>

namespace sluice::train {
namespace {

constexpr std::size_t kTogether = 512;  // values: they stay in the first cache

void add_to(std::span<float> sum, const float* values) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += values[i];
}

}  // namespace

std::size_t NodeSums::bytes_needed(int ranks) {
  return static_cast<std::size_t>(ranks) *
         (sizeof(Progress) + std::size_t{kSlots} * kChunk * sizeof(float));
}

// Zeros are counters at zero: no rank writes those of another, whichever comes first.
NodeSums::NodeSums(std::byte* shared, int rank, int ranks)
    : rank_(rank),
      ranks_(ranks),
      progress_(std::launder(reinterpret_cast<Progress*>(shared))),
      slots_(
          reinterpret_cast<float*>(shared + static_cast<std::size_t>(ranks) * sizeof(Progress))) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
}

void NodeSums::start(std::span<float> values) {
  if (ranks_ == 1) return;
  for (; !values.empty(); ++begun_) {
    const std::size_t count = std::min(values.size(), kChunk);
    chunks_.push_back(values.first(count));
    values = values.subspan(count);
  }
}

bool NodeSums::advance() {
  for (bool moved = true; moved;) {
    moved = false;
    // A slot is free when all have taken what was in it.
    if (shown_ < begun_ && (shown_ < kSlots || all_beyond(&Progress::taken, shown_ - kSlots))) {
      show(shown_);
      progress_[rank_].shown.store(++shown_, std::memory_order_release);
      moved = true;
    }
    if (added_ < shown_ && all_beyond(&Progress::shown, added_)) {
      add_up(added_);
      progress_[rank_].added.store(++added_, std::memory_order_release);
      moved = true;
    }
    if (taken_ < added_ && all_beyond(&Progress::added, taken_)) {
      take(taken_);
      progress_[rank_].taken.store(++taken_, std::memory_order_release);
      chunks_.pop_front();
      moved = true;
    }
  }
  return chunks_.empty();
}

bool NodeSums::all_beyond(Counter counter, std::uint64_t chunk) {
  return std::all_of(progress_, progress_ + ranks_, [&](Progress& one) {
    return (one.*counter).load(std::memory_order_acquire) > chunk;
  });
}

std::span<float> NodeSums::chunk(std::uint64_t index) const {
  return chunks_[static_cast<std::size_t>(index - taken_)];
}

float* NodeSums::slot(int rank, std::uint64_t index) const {
  return slots_ + (static_cast<std::size_t>(rank) * kSlots + index % kSlots) * kChunk;
}

/// Which of the values that rank adds up.
std::span<float> NodeSums::part(std::span<float> values, int rank) const {
  const auto ranks = static_cast<std::size_t>(ranks_), which = static_cast<std::size_t>(rank);
  const std::size_t begin = values.size() * which / ranks;
  return values.subspan(begin, values.size() * (which + 1) / ranks - begin);
}

/// A rank's own part stays where it is: nobody else reads it.
void NodeSums::show(std::uint64_t index) {
  const std::span<float> values = chunk(index);
  float* const shown = slot(rank_, index);
  const std::span<float> own = part(values, rank_);
  std::copy(values.data(), own.data(), shown);
  const auto end = static_cast<std::size_t>(own.data() + own.size() - values.data());
  std::copy(values.begin() + static_cast<std::ptrdiff_t>(end), values.end(), shown + end);
}

void NodeSums::add_up(std::uint64_t index) {
  const std::span<float> values = chunk(index);
  const std::span<float> own = part(values, rank_);
  const std::ptrdiff_t begin = own.data() - values.data();
  std::array<float, kTogether> block;
  for (std::size_t at = 0; at < own.size(); at += kTogether) {
    const std::span<float> to = own.subspan(at, std::min(kTogether, own.size() - at));
    const std::span<float> sum(block.data(), to.size());
    const std::ptrdiff_t place = begin + static_cast<std::ptrdiff_t>(at);
    const auto of_rank = [&](int rank) -> const float* {
      return rank == rank_ ? to.data() : slot(rank, index) + place;
    };
    std::copy_n(of_rank(0), sum.size(), sum.data());
    for (int rank = 1; rank < ranks_; ++rank)
      add_to(sum, of_rank(rank));
    std::copy(sum.begin(), sum.end(), to.begin());
    std::copy(sum.begin(), sum.end(), slot(rank_, index) + place);
  }
}

void NodeSums::take(std::uint64_t index) {
  const std::span<float> values = chunk(index);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    const std::span<float> theirs = part(values, rank);
    const std::ptrdiff_t begin = theirs.data() - values.data();
    std::copy_n(slot(rank, index) + begin, theirs.size(), theirs.data());
  }
}

}  // namespace sluice::train
