// sluice/loader/gpu/copy_feed.h - batches that a loader made on the CPU, copied to a GPU ahead of
// their use. Any recipe; gpu/device_feed.h decodes on the GPU instead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/gpu/driver.h"
#include "sluice/loader/loader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace sluice::loader::gpu {

/// Memory of a device for one batch and its labels.
struct Place {
  std::shared_ptr<const Device> device;
  std::uint64_t address = 0;
  std::int64_t* labels = nullptr;  // pinned; copied from
  std::shared_ptr<Event> copied;   // the latest copy into it
  std::shared_ptr<Event> after;    // whatever may still read it; null: nothing does
  explicit Place(std::shared_ptr<const Device> of) : device(std::move(of)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place();  // waits for the device
};

/// Who has which place. A place that was let go may still be read by what the consumer launched:
/// it is filled again after all that the device had to do at the next call of collect().
class Places {
 public:
  Places(std::shared_ptr<const Device> device, std::size_t image_bytes, std::uint32_t samples,
         std::size_t usual);
  /// `more`: allocates also beyond the usual number. Null: there is none.
  Result<std::unique_ptr<Place>> take(bool more);
  void put_back(std::unique_ptr<Place> place);  // nothing was copied or launched
  void let_go(std::unique_ptr<Place> place);    // from any thread
  Status collect();
  void close();  // what is let go later is freed at once

  [[nodiscard]] const Device& device() const { return *device_; }
  [[nodiscard]] std::size_t label_offset() const { return label_offset_; }
  [[nodiscard]] std::size_t bytes() const;  // on the device, all places

 private:
  Result<std::unique_ptr<Place>> allocate();
  std::shared_ptr<const Device> device_;
  std::size_t label_offset_;
  std::size_t label_bytes_;
  std::size_t usual_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Place>> free_, let_go_;
  std::size_t count_ = 0;
  bool closed_ = false;
};

/// A batch on the device; its place goes back on destruction, from any thread, also after its feed.
class Arrival {
 public:
  Arrival(std::shared_ptr<Places> places, std::unique_ptr<Place> place, const Batch& batch);
  ~Arrival();
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

  [[nodiscard]] void* images() const;
  [[nodiscard]] void* labels() const;
  [[nodiscard]] std::array<std::int64_t, 4> shape() const { return shape_; }
  [[nodiscard]] BatchType type() const { return type_; }
  [[nodiscard]] int device() const { return places_->device().index(); }
  /// Of the host, for who wants them there.
  [[nodiscard]] std::vector<std::uint64_t>& indices() { return indices_; }
  /// `stream` goes on when the copy has run.
  Status hold(void* stream) const { return place_->copied->hold(stream); }
  /// `bytes` from `from`, which is images() or labels(); waits.
  Status download(std::span<std::byte> to, const void* from) const;

 private:
  friend class CopyFeed;
  std::shared_ptr<Places> places_;
  std::unique_ptr<Place> place_;
  std::array<std::int64_t, 4> shape_;
  BatchType type_;
  std::vector<std::uint64_t> indices_;
  LoaderState after_;  // of the loader: whoever used this batch last goes on from here
};

/// As a Loader, whose epochs, order, states and errors it gives. next() sends what else is ready,
/// so that copies run while the consumer computes; there is no thread. One consumer.
class CopyFeed {
 public:
  /// Batches that are sent before they are asked for.
  static constexpr std::size_t kAhead = 2;

  /// `loader` has slots of Device::pinned_allocator(), two more than it would need without a feed.
  CopyFeed(std::shared_ptr<const Device> device, Loader& loader);
  ~CopyFeed();
  Status open();  // before all else

  Status start_epoch(std::uint64_t epoch);
  Status restore(const LoaderState& state);
  /// Null at the end of the epoch.
  Result<std::shared_ptr<Arrival>> next(const KeepWaiting& keep_waiting = {});
  /// After the last batch that next() gave; for any thread.
  [[nodiscard]] LoaderState state() const;
  [[nodiscard]] std::size_t device_bytes() const { return places_->bytes(); }
  /// Gives memory back that nobody holds; next() is not called any more.
  void close();

 private:
  Status send_one(const KeepWaiting& keep_waiting, bool more, bool& sent);
  Status copy(Place& place, const Batch& batch);
  void send_ahead();
  void drop();
  void account_arrived();
  void set_state(const LoaderState& state);

  std::shared_ptr<const Device> device_;
  Loader& loader_;
  void* stream_ = nullptr;
  std::shared_ptr<Places> places_;
  std::deque<std::shared_ptr<Arrival>> sent_;
  bool ended_ = false;          // the epoch has, and next() has not said so
  std::optional<Error> error_;  // of a batch after those that were sent
  struct Copying {
    std::shared_ptr<Event> begin, end;
    std::size_t bytes = 0;
  };
  std::deque<Copying> copying_;  // what is not yet accounted for
  mutable std::mutex state_mutex_;
  LoaderState state_;
};

}  // namespace sluice::loader::gpu
