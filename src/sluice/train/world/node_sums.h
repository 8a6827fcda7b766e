// sluice/train/world/node_sums.h - sums over ranks that share memory, begun and carried on without
// waiting.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

namespace sluice::train {

/// One rank of several on one machine. Values go through the shared memory in chunks. Of each chunk
/// every rank shows its values to the others, adds up its own part over all ranks in their order,
/// and takes the parts of the others: the same bits on every rank and in every run.
class NodeSums {
 public:
  static constexpr std::size_t kChunk = 32768;  // values: shown, added and taken within a cache
  static constexpr std::uint64_t kSlots = 8;    // chunks under way

  static std::size_t bytes_needed(int ranks);

  /// `shared`: the same bytes_needed() bytes for all ranks, zeros before the first of them is made,
  /// at a multiple of 64; they outlive it.
  NodeSums(std::byte* shared, int rank, int ranks);

  /// Begins values = their sum over all ranks, which begin the same sums in the same order. The
  /// values are not to be touched before advance() says that all is done.
  void start(std::span<float> values);
  /// Goes on as far as the other ranks have come. True: nothing is under way.
  bool advance();

 private:
  /// Of one rank, written by it alone: so many chunks it has shown, added up, taken.
  struct alignas(64) Progress {
    std::atomic<std::uint64_t> shown, added, taken;
  };
  using Counter = std::atomic<std::uint64_t> Progress::*;

  [[nodiscard]] bool all_beyond(Counter counter, std::uint64_t chunk);
  [[nodiscard]] std::span<float> chunk(std::uint64_t index) const;
  [[nodiscard]] float* slot(int rank, std::uint64_t index) const;
  [[nodiscard]] std::span<float> part(std::span<float> values, int rank) const;
  void show(std::uint64_t index);
  void add_up(std::uint64_t index);
  void take(std::uint64_t index);

  int rank_, ranks_;
  Progress* progress_;                   // of each rank
  float* slots_;                         // kSlots of each rank
  std::deque<std::span<float>> chunks_;  // begun and not yet taken; the first is number taken_
  std::uint64_t begun_ = 0, shown_ = 0, added_ = 0, taken_ = 0;
};

}  // namespace sluice::train
