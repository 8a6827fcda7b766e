// sluice/storage/cache/folder.h - the folder of a cache: claimed, filled, bounded, shared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/descriptor.h"
#include "sluice/core/result.h"
#include "sluice/storage/cache/entry.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace sluice::storage {

/// Layout: `sluice-cache` (version, bytes in use; its flock guards the bookkeeping), `objects/x/`
/// (whole entries; when one was last read is its modification time), `tmp/` (entries being written,
/// each under a flock of its writer: one that can be locked has lost its writer and is removed).
/// Thread-safe. The flock of the folder is never held while bytes are fetched or written; who
/// cannot have it in time (its holder may be stopped) gets Errc::timeout.
class CacheFolder {
 public:
  /// Makes the folder, or checks that it is one of ours; removes what killed processes left;
  /// counts.
  /// Who cannot lock it within `wait` goes without counting, if the folder is one of ours.
  static Result<std::unique_ptr<CacheFolder>> open(const std::filesystem::path& path,
                                                   std::uint64_t max_bytes,
                                                   std::chrono::milliseconds wait);

  /// To read from; without a file when there is no such entry.
  [[nodiscard]] Descriptor open_entry(const EntryId& id) const;

  /// Writes the entry and gives it its name, after making room: the least recently used entries go.
  /// Returns the inode of the file. On an Error nothing of it is left.
  Result<std::uint64_t> fill(const EntryId& id, std::span<const std::byte> payload);

  /// Removes a damaged entry.
  void remove(const EntryId& id);

  [[nodiscard]] std::uint64_t max_bytes() const { return max_bytes_; }
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  [[nodiscard]] std::uint64_t evicted_bytes() const { return evicted_bytes_; }

 private:
  class Lock;
  struct Temporary;

  CacheFolder(std::filesystem::path path, std::uint64_t max_bytes);
  [[nodiscard]] Error failure(std::string_view action, int number) const;
  Status claim(std::chrono::milliseconds wait);
  Status read_header();
  Status write_header(std::uint64_t bytes);
  Status make_room(std::uint64_t needed);
  Result<Temporary> reserve(std::uint64_t payload_bytes);
  void give_up(const Temporary& temporary);

  std::filesystem::path path_;
  std::uint64_t max_bytes_;
  Descriptor root_;
  Descriptor header_;
  std::mutex mutex_;  // before the flock, which the threads of a process share
  std::atomic<std::uint64_t> names_{0};
  std::atomic<std::uint64_t> evictions_{0};
  std::atomic<std::uint64_t> evicted_bytes_{0};
};

/// Writes down that the entry was read now.
void touch(int fd);

}  // namespace sluice::storage
