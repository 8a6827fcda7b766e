// sluice/storage/remote/fetch_object.cpp - threads that take ranges off one counter.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/fetch_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace sluice::storage {

namespace {

class Fetch {
 public:
  Fetch(ObjectStore& store, const Object& object, const FetchSink& sink, std::size_t range)
      : store_(store), object_(object), sink_(sink), range_(range) {}

  void run_stream() {
    ReadBuffer buffer;
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::uint64_t offset = next_.fetch_add(range_, std::memory_order_relaxed);
      if (offset >= object_.size) return;
      const Status status = fetch_range(offset, buffer);
      if (!status) fail(status.error());
    }
  }
  Status result() {
    if (error_) return std::move(*error_);
    return ok;
  }

 private:
  Status fetch_range(std::uint64_t offset, ReadBuffer& buffer) {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(range_, object_.size - offset));
    SLUICE_TRY(const auto bytes, store_.read(object_, offset, size, buffer));
    return sink_(offset, bytes);
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
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Status fetch_object(ObjectStore& store, const Object& object, const FetchSink& sink,
                    const FetchOptions& options) {
  if (options.streams < 1 || options.streams > 256 || options.range_bytes < 4096)
    return Error{Errc::usage, fmt::format("{} streams with ranges of {} bytes: expected 1 to 256 "
                                          "streams and at least 4096 bytes",
                                          options.streams, options.range_bytes)};
  const std::uint64_t ranges = (object.size + options.range_bytes - 1) / options.range_bytes;
  const auto streams = std::min<std::uint64_t>(static_cast<std::uint64_t>(options.streams),
                                               std::max<std::uint64_t>(ranges, 1));
  Fetch fetch(store, object, sink, options.range_bytes);
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 1; i < streams; ++i)
    threads.emplace_back([&fetch] { fetch.run_stream(); });
  fetch.run_stream();
  threads.clear();  // joins
  return fetch.result();
}

}  // namespace sluice::storage
