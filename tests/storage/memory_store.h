// tests/storage/memory_store.h - objects in memory, for what reads stores.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"

#include <atomic>
#include <cstring>
#include <map>
#include <string>

namespace sluice::storage::testing {

/// Reads are checked and counted; `request` is what request_bytes() says.
class MemoryStore final : public ObjectStore {
 public:
  explicit MemoryStore(std::size_t request = 0) : request_(request) {}

  std::map<std::string, std::string> objects{};
  std::string version = "1";  // of each
  std::atomic<int> reads = 0;
  std::atomic<std::uint64_t> bytes_read = 0;
  std::atomic<int> hints = 0;
  std::atomic<bool> fail = false;

  [[nodiscard]] std::string name() const override { return "memory"; }
  Status list(std::string_view prefix, const Page& page) override {
    for (const auto& [key, content] : objects)
      if (key.substr(0, prefix.size()) == prefix) {
        const Object object{.key = key, .size = content.size(), .version = version};
        SLUICE_CHECK(page({&object, 1}));
      }
    return ok;
  }
  Result<Object> stat(std::string_view key) override {
    const auto found = objects.find(std::string(key));
    if (found == objects.end()) return Error{Errc::not_found, "memory: no such key"};
    return Object{.key = found->first, .size = found->second.size(), .version = version};
  }
  Result<std::span<const std::byte>> read(const Object& object, std::uint64_t offset,
                                          std::size_t size, ReadBuffer& buffer) override {
    if (fail) return Error{Errc::io, "memory: told to fail"};
    const auto found = objects.find(object.key);
    if (found == objects.end()) return Error{Errc::not_found, "memory: no such key"};
    const std::string& content = found->second;
    if (offset > content.size() || size > content.size() - offset)
      return Error{Errc::invalid_input, "memory: fewer bytes than asked for"};
    ++reads;
    bytes_read += size;
    const std::span<std::byte> out = buffer.take(size);
    if (size > 0) std::memcpy(out.data(), content.data() + offset, size);
    return std::span<const std::byte>(out);
  }
  [[nodiscard]] std::size_t request_bytes() const override { return request_; }
  void will_read(const Object& /*object*/, std::uint64_t /*offset*/,
                 std::size_t /*size*/) override {
    ++hints;
  }
  void cancel() override { fail = true; }
  [[nodiscard]] Json counters() const override { return {{"reads", reads.load()}}; }

 private:
  std::size_t request_;
};

}  // namespace sluice::storage::testing
