// sluice/loader/batch.h - a batch: a lease on a slot of the loader's ring, nothing is copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/recipe/output.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sluice::loader {

/// Something that is still reading a slot, such as a copy to a device.
class SlotEvent {
 public:
  virtual ~SlotEvent() = default;
  [[nodiscard]] virtual bool ready() = 0;
  /// Returns once ready. Has a time limit of its own.
  virtual void wait() = 0;
};

class Ring;
struct Slot;

/// Move-only. The slot goes back to the loader on release() or destruction; a batch may outlive its
/// loader. Not for two threads at a time.
class Batch {
 public:
  Batch() = default;
  Batch(std::shared_ptr<Ring> ring, Slot& slot);
  ~Batch() { release(); }
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  [[nodiscard]] bool empty() const { return slot_ == nullptr; }
  // Precondition of the rest: not empty().
  [[nodiscard]] std::uint32_t size() const;  // samples
  [[nodiscard]] const OutputSpec& spec() const;
  /// N, then H, W, C or C, H, W.
  [[nodiscard]] std::array<std::int64_t, 4> shape() const;
  /// In samples of the type, as DLPack counts: rows, planes and samples follow without a gap.
  [[nodiscard]] std::array<std::int64_t, 4> strides() const;
  /// Aligned to 4096 bytes at least.
  [[nodiscard]] std::span<std::byte> data() const;
  [[nodiscard]] std::span<const std::byte> sample(std::uint32_t i) const;
  /// Precondition: T is the sample type (bf16 and f16: uint16_t).
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    const std::span<std::byte> bytes = data();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  [[nodiscard]] std::span<const std::int64_t> labels() const;  // -1: none
  /// In the dataset; after a skip that of the sample that stands in.
  [[nodiscard]] std::span<const std::uint64_t> indices() const;
  [[nodiscard]] std::uint64_t epoch() const;
  [[nodiscard]] std::uint64_t step() const;  // within the epoch, from where it was started
  [[nodiscard]] bool pinned() const;

  /// The slot is used again only when `event` is ready.
  void set_event(std::shared_ptr<SlotEvent> event);
  void release();

 private:
  std::shared_ptr<Ring> ring_;
  Slot* slot_ = nullptr;
};

}  // namespace sluice::loader
