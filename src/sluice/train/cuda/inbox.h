// sluice/train/cuda/inbox.h - batches on their way to a GPU: copied ahead, beside what runs there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/cuda/session.h"
#include "sluice/train/sent_images.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sluice::train::cuda {

struct InboxShape {
  std::int64_t batch = 0, channels = 3, height = 0, width = 0;
  [[nodiscard]] std::size_t values() const {
    return static_cast<std::size_t>(batch * channels * height * width);
  }
};

/// Places in device memory that are filled in turn by a stream of its own and emptied by the
/// session's. Nothing waits but the device. Memory is taken when the first batch comes.
class Inbox {
 public:
  static constexpr std::size_t kPlaces = 3;  // one being used, two ahead
  static constexpr int kEvents = 3 * static_cast<int>(kPlaces);

  /// Events [first_event, first_event + kEvents) of the session are its own.
  Inbox(Session& session, const InboxShape& shape, int first_event)
      : session_(session), shape_(shape), first_event_(first_event) {}

  /// Gives the number of the batch, from 0 on. The bytes must stay until it has arrived. At most
  /// kPlaces may be sent and not unpacked; sizes and types that do not fit are usage errors.
  Result<std::uint64_t> send(const SentImages& images);
  /// The same for a batch of u8 that another library makes on this device: `pixels` hold it once
  /// `ready`, a cudaEvent_t, has come. They must stay until `read(number)` has.
  Result<std::uint64_t> place(const void* pixels, std::int64_t samples,
                              std::span<const float> levels, void* ready);
  /// A cudaEvent_t: the stream has read what was placed. After its unpack().
  [[nodiscard]] void* read(std::uint64_t number) const {
    return session_.event(event(number, kFree));
  }
  /// Whether batch `number` has arrived, so that its host memory may be used again. `limit_seconds`
  /// 0: asks; otherwise waits, and what takes longer is Errc::measurement.
  Result<bool> arrived(std::uint64_t number, double limit_seconds = 0);
  /// The oldest that was sent, as values [batch, channels, height, width]; 0 beyond its samples.
  Status unpack(float* images);
  /// The oldest that was sent is not wanted.
  Status drop();
  /// How long the copy took on the device, once it has arrived; for the last kPlaces.
  Result<double> copy_ns(std::uint64_t number);

  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] bool full() const { return sent_ - unpacked_ == kPlaces; }

 private:
  struct Place {
    void* memory = nullptr;
    PixelType type = PixelType::u8;
    std::int64_t given = 0;
    const void* pixels = nullptr;  // in `memory`, or elsewhere on the device
    void* ready = nullptr;         // of what lies elsewhere
  };
  enum Mark : int { kFree, kBegun, kSent };
  [[nodiscard]] int event(std::uint64_t number, Mark mark) const {
    return first_event_ + 3 * static_cast<int>(number % kPlaces) + mark;
  }
  Status take_memory(std::size_t bytes);
  Status take_levels(std::span<const float> levels);

  Session& session_;
  InboxShape shape_;
  int first_event_;
  std::array<Place, kPlaces> places_;
  std::size_t place_bytes_ = 0;
  std::vector<float> levels_;  // as they are on the device
  float* device_levels_ = nullptr;
  std::uint64_t sent_ = 0, unpacked_ = 0;
};

}  // namespace sluice::train::cuda
