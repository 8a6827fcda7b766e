// sluice/storage/local/open_files.h - a bounded set of files that stay open (and mapped) between
// reads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sluice::storage {

/// An open file descriptor, with or without a map of the whole file; both go with it.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const std::byte* map() const { return map_; }
  [[nodiscard]] std::size_t map_size() const { return map_size_; }
  /// 0, or errno. A file of no bytes has no map.
  int map_whole(std::size_t size);

 private:
  int fd_;
  const std::byte* map_ = nullptr;
  std::size_t map_size_ = 0;
};

/// Thread-safe. The least recently used file is let go first; who still reads it keeps it open.
class OpenFiles {
 public:
  explicit OpenFiles(std::size_t limit) : limit_(limit) {}

  std::shared_ptr<const OpenFile> find(std::string_view key);
  void keep(const std::string& key, std::shared_ptr<const OpenFile> file);
  void drop(std::string_view key);

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const OpenFile>>;
  std::size_t limit_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace sluice::storage
