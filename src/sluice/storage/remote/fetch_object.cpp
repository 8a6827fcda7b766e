// sluice/storage/remote/fetch_object.cpp - threads that take ranges off one counter; one more than
// there are requests, so that what came is written while the next range is on its way.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/fetch_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

namespace sluice::storage {

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

std::size_t usual_range(int streams) {
  const auto buffers = static_cast<std::size_t>(std::max(streams, 1)) + 1;
  return std::max<std::size_t>(8, 64 / buffers) * kMiB;
}

class Fetch {
 public:
  Fetch(ObjectStore& store, const Object& object, const FetchSink& sink, std::size_t range,
        std::ptrdiff_t requests)
      : store_(store), object_(object), sink_(sink), range_(range), requests_(requests) {}

  void run_stream() {
    ReadBuffer buffer;
    while (true) {
      requests_.acquire();
      const auto part = fetch_next(buffer);
      requests_.release();
      if (!part) return fail(part.error());
      if (part->bytes.empty()) return;
      const Status taken = sink_(part->offset, part->bytes);
      if (!taken) return fail(taken.error());
    }
  }
  Status result() {
    if (error_) return std::move(*error_);
    return ok;
  }

 private:
  struct Part {
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes{};  // empty: nothing is left, or somebody failed
  };
  Result<Part> fetch_next(ReadBuffer& buffer) {
    if (failed_.load(std::memory_order_relaxed)) return Part{};
    const std::uint64_t offset = next_.fetch_add(range_, std::memory_order_relaxed);
    if (offset >= object_.size) return Part{};
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(range_, object_.size - offset));
    SLUICE_TRY(const auto bytes, store_.read(object_, offset, size, buffer));
    return Part{.offset = offset, .bytes = bytes};
  }
  void fail(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = error;
    failed_.store(true, std::memory_order_relaxed);
  }

  ObjectStore& store_;
  const Object& object_;
  const FetchSink& sink_;
  std::size_t range_;
  std::counting_semaphore<> requests_;  // that may be begun
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Status fetch_object(ObjectStore& store, const Object& object, const FetchSink& sink,
                    const FetchOptions& options) {
  const std::size_t range =
      options.range_bytes == 0 ? usual_range(options.streams) : options.range_bytes;
  if (options.streams < 1 || options.streams > 256 || range < 4096)
    return Error{Errc::usage, fmt::format("{} streams with ranges of {} bytes: expected 1 to 256 "
                                          "streams and at least 4096 bytes",
                                          options.streams, range)};
  const std::uint64_t ranges = (object.size + range - 1) / range;
  const auto streams = std::min<std::uint64_t>(static_cast<std::uint64_t>(options.streams),
                                               std::max<std::uint64_t>(ranges, 1));
  Fetch fetch(store, object, sink, range, static_cast<std::ptrdiff_t>(streams));
  std::vector<std::jthread> threads;
  const std::uint64_t writers = ranges > streams ? 1 : 0;
  for (std::uint64_t i = 1; i < streams + writers; ++i)
    threads.emplace_back([&fetch] { fetch.run_stream(); });
  fetch.run_stream();
  threads.clear();  // joins
  return fetch.result();
}

}  // namespace sluice::storage
