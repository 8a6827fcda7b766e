// sluice/scenario/loader/outbox.h - batches of a loader on their way to a GPU, some of them ahead
// of their use: pinned slots, copies beside the work of the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/gpu/device_feed.h"
#include "sluice/loader/loader.h"
#include "sluice/train/cuda/inbox.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::scenario {

inline constexpr double kCopyLimit = 60;  // seconds; a copy takes milliseconds

/// How pixels travel: --upload. The loader makes them so.
Result<train::PixelType> parse_upload(const std::string& text);  // "uint8", "fp16", "fp32"
const char* to_string(train::PixelType type);
loader::BatchType batch_type(train::PixelType type);
loader::Layout layout_of(train::PixelType type);

/// Slots that cuda:`index` copies from without a detour.
std::shared_ptr<loader::PinnedAllocator> pinned_for(int index);

/// A batch whose pixels were sent.
struct OutboxBatch {
  std::uint64_t number = 0;  // of the inbox
  std::vector<std::int64_t> labels;
  std::vector<std::uint64_t> indices;
  std::uint64_t epoch = 0;
  loader::LoaderState after;  // of the loader: a run that used this batch last goes on from here
};

/// What makes batches and hands them to an inbox, one after another. Each stays valid until the
/// next is asked for. One thread.
class Outbox {
 public:
  /// Sent and not used, at most: one place of the inbox is the batch in use.
  static constexpr std::size_t kAhead = train::cuda::Inbox::kPlaces - 1;

  virtual ~Outbox() = default;
  /// What was sent and not used is dropped.
  virtual Status start_epoch(std::uint64_t epoch) = 0;
  virtual Status restore(const loader::LoaderState& state) = 0;
  /// The next batch in order; the caller unpacks the inbox before it asks again. Waits only when
  /// nothing was sent ahead. Nothing at the end of an epoch, unless set_endless().
  virtual Result<std::optional<OutboxBatch>> next() = 0;
  /// Sends what is ready, without waiting: to be called while the device is busy.
  virtual Status ahead() = 0;
  virtual Status clear() = 0;
  [[nodiscard]] virtual loader::LoaderStats stats() const = 0;
  /// What else is known: lanes and their shares; null: nothing.
  [[nodiscard]] virtual Json describe() const { return nullptr; }

  /// An epoch that has ended is followed by the next.
  void set_endless() { endless_ = true; }

 protected:
  bool endless_ = false;
};

/// Pixels that the CPU made, copied from slots of `loader`; a slot goes back as soon as its copy
/// has run. `levels`: of u8. Both outlive it.
std::unique_ptr<Outbox> make_outbox(loader::Loader& loader, train::cuda::Inbox& inbox,
                                    train::PixelType type, std::vector<float> levels);

/// Pixels that the device made: u8, HWC. Both outlive it.
std::unique_ptr<Outbox> make_outbox(loader::gpu::DeviceFeed& feed, train::cuda::Inbox& inbox,
                                    std::vector<float> levels);

}  // namespace sluice::scenario
