// sluice/loader/gpu/driver.h - CUDA's driver by dlopen, and a GPU by it: streams, events, memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/batch.h"
#include "sluice/loader/slot_memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <sys/types.h>

namespace sluice::loader::gpu {

/// The part of the driver's C interface that we call, versioned by the names of its functions:
/// neither cuda.h nor a toolkit is needed. Every function returns 0 or a code of the driver.
struct Driver {
  static constexpr int kNotReady = 600;
  static constexpr int kCapturing = 900;       // not while somebody captures a graph
  static constexpr unsigned kNonBlocking = 1;  // stream: not ordered with the default stream
  static constexpr unsigned kNoTiming = 2;     // event
  static constexpr unsigned kPortable = 1;     // pinned for every device
  static constexpr int kRelaxed = 2;           // mode of stream capture

  int (*init)(unsigned flags);
  int (*device_count)(int* count);
  int (*current_device)(int* device);
  int (*retain)(void** context, int device);  // the context that torch, jax and cupy use
  int (*release)(int device);
  int (*push)(void* context);
  int (*pop)(void** context);
  int (*synchronize)();
  int (*exchange_capture_mode)(int* mode);
  int (*stream_create)(void** stream, unsigned flags);
  int (*stream_destroy)(void* stream);
  int (*stream_wait)(void* stream, void* event, unsigned flags);
  int (*stream_synchronize)(void* stream);
  int (*event_create)(void** event, unsigned flags);
  int (*event_destroy)(void* event);
  int (*event_record)(void* event, void* stream);
  int (*event_query)(void* event);
  int (*event_elapsed)(float* ms, void* begin, void* end);
  int (*allocate)(std::uint64_t* address, std::size_t bytes);
  int (*free)(std::uint64_t address);
  int (*pin)(void** memory, std::size_t bytes, unsigned flags);
  int (*unpin)(void* memory);
  int (*copy_to_device)(std::uint64_t to, const void* from, std::size_t bytes, void* stream);
  int (*copy_to_host)(void* to, std::uint64_t from, std::size_t bytes, void* stream);
  int (*error_text)(int code, const char** text);
  int (*context_record)(void* context, void* event);  // null in drivers before CUDA 12.5
};

class Event;

/// A GPU, with its context kept for as long as this lives. For any thread; in a process that forked
/// off nothing is asked of the driver any more.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// `index` -1: that of the thread's context, else 0. `asked` begins every error (usage), such as
  /// "device is 'cuda:7'"; `otherwise` is what is accepted without a GPU.
  static Result<std::shared_ptr<const Device>> open(int index, std::string_view asked,
                                                    std::string_view otherwise);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] bool here() const;  // not in a process that forked off
  [[nodiscard]] const Driver& driver() const { return *driver_; }
  [[nodiscard]] Status status(int code, std::string_view what) const;
  /// Of all that was launched in the context before, by whomever, on any stream. Drivers before
  /// CUDA 12.5 cannot say that: then it is waited for, and the event is empty.
  Result<std::shared_ptr<Event>> record_all() const;
  [[nodiscard]] std::shared_ptr<PinnedAllocator> pinned_allocator() const;

  /// While it lives the context is the thread's, and a capture of a graph by others is no
  /// hindrance.
  class Entered {
   public:
    explicit Entered(const Device& device);
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    const Driver& driver_;
    int mode_ = Driver::kRelaxed;
    bool pushed_ = false;
  };

 private:
  Device(const Driver* driver, int index, void* context);
  const Driver* driver_;
  int index_;
  void* context_;
  pid_t process_;
};

/// A point in the work of a device; keeps slots back until it is reached.
class Event final : public SlotEvent {
 public:
  static constexpr double kLongest_s = 60;  // of one wait
  static Result<std::shared_ptr<Event>> make(std::shared_ptr<const Device> device, bool timed);
  ~Event() override;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Status record(void* stream);
  /// The stream goes on when this is reached.
  Status hold(void* stream) const;
  /// A device that fails says so at the next call that can; nothing is kept back for it.
  [[nodiscard]] bool ready() override;
  void wait() override;
  /// -1: one of the two is not reached. Both are timed.
  [[nodiscard]] std::int64_t ns_since(const Event& begin) const;
  [[nodiscard]] void* handle() const { return event_; }

 private:
  Event(std::shared_ptr<const Device> device, void* event);
  std::shared_ptr<const Device> device_;
  void* event_;
};

}  // namespace sluice::loader::gpu
