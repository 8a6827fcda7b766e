// sluice/loader/sampler.cpp - the order of an epoch and how it is cut into batches.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/sampler.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string>

namespace sluice::loader {
namespace {

// Stages of RngKey, apart from those of transforms (hashes of names). Frozen.
constexpr std::uint32_t kOrderStage = 0x6F726465;   // "orde"
constexpr std::uint32_t kWindowStage = 0x77696E64;  // "wind"

}  // namespace

const char* to_string(Shuffle shuffle) {
  switch (shuffle) {
    case Shuffle::none:
      return "none";
    case Shuffle::full:
      return "full";
    case Shuffle::windowed:
      return "windowed";
    case Shuffle::shards:
      return "shards";
  }
  return "?";
}

Result<Shuffle> parse_shuffle(std::string_view text) {
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::full, Shuffle::windowed, Shuffle::shards})
    if (text == to_string(shuffle)) return shuffle;
  return Error{Errc::usage, fmt::format("shuffle `{}` is unknown; accepted: none, full, windowed, "
                                        "shards",
                                        printable(text))};
}

EpochOrder::EpochOrder(std::uint64_t size, std::span<const std::uint64_t> shard_starts,
                       const OrderOptions& options, std::uint64_t epoch)
    : shuffle_(options.shuffle), size_(size), window_(std::max<std::uint64_t>(options.window, 1)) {
  assert(size > 0);
  window_ = std::min(window_, size);
  key_.seed = options.seed;
  key_.epoch = epoch;
  key_.stage = kOrderStage;
  if (shuffle_ == Shuffle::full) outer_ = Permutation(size, key_);
  if (shuffle_ == Shuffle::windowed) {
    const std::uint64_t windows = (size + window_ - 1) / window_;
    outer_ = Permutation(windows, key_);
    short_at_ = outer_.inverse(windows - 1) * window_;
  }
  if (shuffle_ == Shuffle::shards) {
    starts_ = shard_starts;
    outer_ = Permutation(starts_.size(), key_);
    stream_.reserve(starts_.size() + 1);
    stream_.push_back(0);
    for (std::uint64_t i = 0; i < starts_.size(); ++i) {
      const std::uint64_t shard = outer_(i);
      const std::uint64_t end = shard + 1 < starts_.size() ? starts_[shard + 1] : size;
      stream_.push_back(stream_.back() + (end - starts_[shard]));
    }
  }
}

std::uint64_t EpochOrder::operator[](std::uint64_t position) const {
  assert(position < size_);
  switch (shuffle_) {
    case Shuffle::none:
      return position;
    case Shuffle::full:
      return outer_(position);
    case Shuffle::windowed:
      return windowed(position);
    case Shuffle::shards:
      return sharded(position);
  }
  return position;
}

std::uint64_t EpochOrder::in_window(std::uint64_t window, std::uint64_t size,
                                    std::uint64_t place) const {
  RngKey key = key_;
  key.index = window;
  key.stage = kWindowStage;
  return Permutation(size, key)(place);
}

std::uint64_t EpochOrder::windowed(std::uint64_t position) const {
  const std::uint64_t rest = size_ % window_;
  const std::uint64_t short_size = rest == 0 ? window_ : rest;
  std::uint64_t turn = 0, place = 0;
  if (position < short_at_ + short_size) {
    turn = position / window_;
    place = position % window_;
  } else {  // what follows the short window is moved by what it lacks
    const std::uint64_t moved = position + (window_ - short_size);
    turn = moved / window_;
    place = moved % window_;
  }
  const std::uint64_t window = outer_(turn);
  const bool is_short = window == (size_ - 1) / window_;
  return window * window_ + in_window(window, is_short ? short_size : window_, place);
}

std::uint64_t EpochOrder::sharded(std::uint64_t position) const {
  const std::uint64_t window = position / window_;
  const std::uint64_t begin = window * window_;
  const std::uint64_t at =
      begin + in_window(window, std::min(window_, size_ - begin), position - begin);
  const auto after = std::upper_bound(stream_.begin(), stream_.end(), at);
  const auto turn = static_cast<std::uint64_t>(after - stream_.begin()) - 1;
  return starts_[outer_(turn)] + (at - stream_[turn]);
}

BatchPlan::BatchPlan(std::uint64_t size, const BatchOptions& options, std::uint64_t consumed)
    : size_(size), options_(options), base_(std::min(consumed, size)) {
  const std::uint64_t all = std::uint64_t{options.ranks} * options.batch_size;
  const std::uint64_t left = size_ - base_;
  steps_ = left / all;
  if (options.drop_last || left % all == 0) return;
  ++steps_;
  if (step(steps_ - 1).count == 0) --steps_;
}

BatchPlan::Range BatchPlan::step(std::uint64_t step) const {
  const std::uint64_t all = std::uint64_t{options_.ranks} * options_.batch_size;
  const std::uint64_t first = base_ + step * all;
  if (size_ - first >= all)
    return {first + std::uint64_t{options_.rank} * options_.batch_size, options_.batch_size};
  const std::uint64_t left = size_ - first;
  const std::uint64_t share = left / options_.ranks;
  const std::uint64_t larger = left % options_.ranks;  // the first so many ranks have one more
  const std::uint64_t rank = options_.rank;
  return {first + rank * share + std::min(rank, larger),
          static_cast<std::uint32_t>(share + (rank < larger ? 1 : 0))};
}

std::uint64_t BatchPlan::consumed_after(std::uint64_t step) const {
  const std::uint64_t all = std::uint64_t{options_.ranks} * options_.batch_size;
  return std::min(size_, base_ + (step + 1) * all);
}

}  // namespace sluice::loader
