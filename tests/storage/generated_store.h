// tests/storage/generated_store.h - a store whose bytes follow from key and version, which counts
// its reads and can hold them up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"

#include "tests/storage/generated_objects.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::storage::testing {

/// Versions are numbers: an object of version "3" has other bytes than that of "2".
class GeneratedStore final : public ObjectStore {
 public:
  explicit GeneratedStore(std::string name = "generated://set") : name_(std::move(name)) {}

  static Object object(const std::string& key, std::uint64_t size, const std::string& version) {
    return Object{.key = key, .size = size, .version = version};
  }
  static std::vector<std::byte> bytes(const Object& object, std::uint64_t offset,
                                      std::size_t size) {
    std::vector<std::byte> out(size);
    generated_content(out, object.key, parse_number(object.version).value_or(0), offset);
    return out;
  }

  std::string name() const override { return name_; }
  Status list(std::string_view, const Page& page) override { return page({}); }
  Result<Object> stat(std::string_view key) override { return object(std::string(key), 1, "1"); }
  Result<std::span<const std::byte>> read(const Object& object, std::uint64_t offset,
                                          std::size_t size, ReadBuffer& buffer) override {
    ++reads_;
    {
      std::unique_lock lock(mutex_);
      changed_.notify_all();
      if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return !held_ || cancelled_; }))
        return Error{Errc::timeout, "held up for too long"};
      if (cancelled_) return Error{Errc::interrupted, name_ + ": interrupted"};
      if (failing_) return Error{Errc::io, name_ + ": fails as asked"};
    }
    if (offset + size > object.size) return Error{Errc::invalid_input, name_ + ": past the end"};
    const std::span<std::byte> out = buffer.take(size);
    generated_content(out, object.key, parse_number(object.version).value_or(0), offset);
    return std::span<const std::byte>(out);
  }
  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  Json counters() const override { return Json{{"reads", reads_.load()}}; }

  std::uint64_t reads() const { return reads_; }
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void fail(bool failing) {
    const std::lock_guard lock(mutex_);
    failing_ = failing;
  }
  /// Returns once `count` reads have begun.
  bool wait_for_reads(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return reads_ >= count; });
  }

 private:
  std::string name_;
  std::atomic<std::uint64_t> reads_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool failing_ = false;
  bool cancelled_ = false;
};

}  // namespace sluice::storage::testing
