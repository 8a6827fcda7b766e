// sluice/loader/gpu/device_feed.h - batches of a dataset on a GPU: a loader makes records, a thread
// decodes and augments them there, two or more batches ahead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/gpu/library.h"
#include "sluice/loader/gpu/router.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/recipe/three_augment.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice::loader::gpu {

struct DeviceFeedOptions {
  /// seed, batch_size, workers, on_error ... as for a Loader. `prefetch` counts slots of records.
  /// pin_memory without an allocator: the device's.
  LoaderOptions loader;
  /// type f32 with layout chw, or u8 with hwc: what the batch on the device is.
  ThreeAugmentOptions recipe;
  LanePolicy policy = LanePolicy::hybrid;
  Augment augment = Augment::fused;  // none: part, resize and mirror alone, as train-crop
  int device = 0;
  bool shared = false;  // with a training: see LineOptions
  int buffers = 3;      // batches on the device: being made, ready, or in use
};

struct DeviceFeedStats {
  LoaderStats loader;
  LaneCounts lanes;
  double gpu_share = 0;             // that the router has found
  std::uint64_t batches = 0;        // made
  std::int64_t decode_ns = 0;       // in the decoder's calls
  std::int64_t loader_wait_ns = 0;  // for records
  std::int64_t buffer_wait_ns = 0;  // for a buffer that is free: the consumer is slower
  std::size_t device_bytes = 0;
  std::uint64_t replaced = 0;                   // samples that neither lane could decode
  std::vector<SkippedSample> replaced_samples;  // the first of them
};

/// A batch on the device; its buffer goes back on release() or destruction. Not for two threads at
/// a time, and not after its feed.
class DeviceBatch {
 public:
  DeviceBatch() = default;
  DeviceBatch(DeviceBatch&& other) noexcept { *this = std::move(other); }
  DeviceBatch& operator=(DeviceBatch&& other) noexcept;
  DeviceBatch(const DeviceBatch&) = delete;
  DeviceBatch& operator=(const DeviceBatch&) = delete;
  ~DeviceBatch() { release(); }

  /// [size, 3, side, side] f32 or [size, side, side, 3] u8, once `ready` has run.
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] void* ready() const { return ready_; }  // a cudaEvent_t, to wait for on a stream
  [[nodiscard]] std::size_t size() const { return labels_.size(); }
  [[nodiscard]] std::span<const std::int64_t> labels() const { return labels_; }
  [[nodiscard]] std::span<const std::uint64_t> indices() const { return indices_; }
  [[nodiscard]] std::uint64_t epoch() const { return state_.epoch; }
  [[nodiscard]] std::uint64_t step() const { return step_; }

  /// `read`: a cudaEvent_t that lives until the buffer is given out again, recorded when the last
  /// reader was launched; null: nothing reads it any more.
  void release(void* read = nullptr);

 private:
  friend class DeviceFeed;
  class DeviceFeed* feed_ = nullptr;
  int buffer_ = 0;
  void* data_ = nullptr;
  void* ready_ = nullptr;
  std::vector<std::int64_t> labels_;
  std::vector<std::uint64_t> indices_;
  std::uint64_t step_ = 0;
  LoaderState state_;  // after this batch
};

/// As a Loader: epochs, order, state and errors are those of the loader inside. One consumer.
class DeviceFeed {
 public:
  /// Refuses (usage) what the line, the loader or the recipe refuses, and outputs other than those
  /// of DeviceFeedOptions. `table`: the module's; tests bring their own.
  static Result<std::unique_ptr<DeviceFeed>> make(std::shared_ptr<const Dataset> dataset,
                                                  const DeviceFeedOptions& options,
                                                  const Table* table = nullptr);
  ~DeviceFeed();  // stop()
  DeviceFeed(const DeviceFeed&) = delete;
  DeviceFeed& operator=(const DeviceFeed&) = delete;

  /// Batches that were made ahead are dropped.
  Status start_epoch(std::uint64_t epoch);
  Status restore(const LoaderState& state);
  /// Nothing at the end of the epoch. At least one buffer must not be held (usage otherwise).
  Result<std::optional<DeviceBatch>> next();
  [[nodiscard]] std::uint64_t steps() const;
  /// After the last batch that next() gave.
  [[nodiscard]] LoaderState state() const;
  [[nodiscard]] DeviceFeedStats stats() const;
  [[nodiscard]] const LineFacts& facts() const;
  /// To the host, for tests and checks; waits.
  Status download(const DeviceBatch& batch, std::span<std::byte> to);
  void stop();

 private:
  friend class DeviceBatch;
  struct Impl;
  explicit DeviceFeed(std::unique_ptr<Impl> impl);
  void give_back(int buffer, void* read);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::loader::gpu
