// tests/loader/support.h - datasets and recipes that do as they are told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace sluice::loader::testing {

/// Opens once; whoever waits is let through, or gives up after a time that no sound run takes.
class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return opened_.wait_for(lock, std::chrono::seconds(30), [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

/// Sample i is the eight bytes of i; its label is i % 10.
class NumberDataset final : public Dataset {
 public:
  explicit NumberDataset(std::uint64_t size, std::vector<std::uint64_t> starts = {0})
      : size_(size), starts_(std::move(starts)), numbers_(size) {
    for (std::uint64_t i = 0; i < size; ++i)
      numbers_[i] = i;
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::string name(std::uint64_t index) const override {
    return "n/" + std::to_string(index);
  }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override {
    return static_cast<std::int64_t>(index % 10);
  }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t) const override { return 8; }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer&) const override {
    reads.fetch_add(1);
    if (cancelled_) return Error{Errc::interrupted, "cancelled"};
    if (blocked.count(index) > 0) {
      std::unique_lock lock(mutex_);
      entered.open();
      if (!let_go_.wait_for(lock, std::chrono::seconds(30), [&] { return let_ || cancelled_; }))
        return Error{Errc::timeout, "nobody let go"};
      if (cancelled_) return Error{Errc::interrupted, "cancelled"};
    }
    if (broken.count(index) > 0) return Error{Errc::io, name(index) + ": the disk is gone"};
    return std::as_bytes(std::span(&numbers_[index], 1));
  }
  void cancel() const override {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    let_go_.notify_all();
  }
  void let_go() const {
    std::lock_guard lock(mutex_);
    let_ = true;
    let_go_.notify_all();
  }
  [[nodiscard]] bool cancelled() const { return cancelled_; }

  std::set<std::uint64_t> blocked;  // reads that wait for let_go() or cancel()
  std::set<std::uint64_t> broken;   // reads that fail for no fault of the sample
  mutable Gate entered;             // opens when a read blocks
  mutable std::atomic<std::uint64_t> reads{0};

 private:
  std::uint64_t size_;
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint64_t> numbers_;
  mutable std::mutex mutex_;
  mutable std::condition_variable let_go_;
  mutable bool let_ = false;
  mutable std::atomic<bool> cancelled_{false};
};

/// A sample becomes 4 x 4 bytes that follow from (seed, epoch, index); `corrupt` ones are refused.
class NumberRecipe final : public Recipe {
 public:
  [[nodiscard]] OutputSpec output() const override { return {2, 2, 4, BatchType::u8, Layout::hwc}; }
  [[nodiscard]] std::unique_ptr<RecipeScratch> make_scratch() const override {
    return std::make_unique<RecipeScratch>();
  }
  static std::array<std::uint32_t, 4> content(const SampleKey& key) {
    RngKey rng;
    rng.seed = key.seed;
    rng.epoch = key.epoch;
    rng.index = key.index;
    Rng random(rng);
    return {random.next_u32(), random.next_u32(), random.next_u32(),
            static_cast<std::uint32_t>(key.index)};
  }
  Status run(std::span<std::byte> out, std::span<const std::byte> encoded, const SampleKey& key,
             RecipeContext& context) const override {
    std::uint64_t number = 0;
    std::memcpy(&number, encoded.data(), sizeof number);
    context.clock.enter(Stage::decode);
    if (corrupt.count(number) > 0) return Error{Errc::invalid_input, "not a number"};
    context.clock.enter(Stage::augment);
    context.clock.enter(Stage::collate);
    const auto words = content(key);
    std::memcpy(out.data(), words.data(), out.size());
    return ok;
  }
  [[nodiscard]] Json describe() const override { return Json{{"name", "number"}}; }

  std::set<std::uint64_t> corrupt;
};

inline std::unique_ptr<Loader> must_make(std::shared_ptr<const Dataset> dataset,
                                         std::shared_ptr<const Recipe> recipe,
                                         const LoaderOptions& options) {
  auto made = Loader::make(std::move(dataset), std::move(recipe), options);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    std::abort();
  }
  return std::move(made).value();
}

/// What a consumer saw: indices and bytes of every batch in turn.
struct Seen {
  std::vector<std::vector<std::uint64_t>> indices;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::vector<std::int64_t>> labels;
  friend bool operator==(const Seen&, const Seen&) = default;

  void add(const Batch& batch) {
    indices.emplace_back(batch.indices().begin(), batch.indices().end());
    bytes.emplace_back(batch.data().begin(), batch.data().end());
    labels.emplace_back(batch.labels().begin(), batch.labels().end());
  }
  [[nodiscard]] std::vector<std::uint64_t> all() const {
    std::vector<std::uint64_t> flat;
    for (const auto& batch : indices)
      flat.insert(flat.end(), batch.begin(), batch.end());
    return flat;
  }
};

/// The rest of the epoch, at most `most` batches.
inline Seen take(Loader& loader, std::uint64_t most = ~std::uint64_t{0}) {
  Seen seen;
  while (seen.indices.size() < most) {
    auto batch = loader.next();
    if (!batch) {
      ADD_FAILURE() << batch.error().message;
      break;
    }
    if (!*batch) break;
    seen.add(**batch);
  }
  return seen;
}

}  // namespace sluice::loader::testing
