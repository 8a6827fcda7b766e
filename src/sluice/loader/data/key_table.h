// sluice/loader/data/key_table.h - a million objects in memory: keys, sizes, versions, labels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loader {

/// 26 bytes an object beside its name and version; folders are kept once. Grows without copying,
/// so that the peak is not twice the end. Objects come in the order of their keys.
///
/// Sizes may come later, from any thread; all else is complete before others read.
class KeyTable {
 public:
  void add(const storage::Object& object);
  void label_by_folder(std::string_view prefix);  // labels.h

  [[nodiscard]] std::uint64_t size() const { return rows_.size(); }
  [[nodiscard]] std::uint64_t without_size() const { return without_size_; }  // when it was added
  [[nodiscard]] std::string key(std::uint64_t index) const;
  [[nodiscard]] storage::Object object(std::uint64_t index) const;
  /// storage::kSizeUnknown: not yet known.
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const {
    return rows_[index].size.load(std::memory_order_relaxed);
  }
  /// Of an object without one: the first that is told stays. Returns what it is from now on.
  std::uint64_t set_bytes(std::uint64_t index, std::uint64_t bytes) const;
  [[nodiscard]] std::int32_t label(std::uint64_t index) const { return rows_[index].label; }
  void set_label(std::uint64_t index, std::int32_t label) { rows_[index].label = label; }

 private:
  struct Row {
    Row(std::uint64_t bytes, const char* begin, std::uint32_t in)
        : size(bytes), text(begin), folder(in) {}
    mutable std::atomic<std::uint64_t> size;
    const char* text;  // two bytes of length, name, version up to a NUL
    std::uint32_t folder;
    std::int32_t label = -1;
  };
  [[nodiscard]] std::string_view name(const Row& row) const;
  char* take(std::size_t bytes);

  std::deque<Row> rows_;
  std::uint64_t without_size_ = 0;
  std::vector<std::string> folders_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;  // in the last chunk
  std::size_t left_ = 0;
};

}  // namespace sluice::loader
