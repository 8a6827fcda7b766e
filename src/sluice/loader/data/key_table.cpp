// sluice/loader/data/key_table.cpp - a million objects in memory: keys, sizes, versions, labels.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/key_table.h"

#include "sluice/loader/data/labels.h"

#include <algorithm>
#include <cstring>

namespace sluice::loader {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

}  // namespace

char* KeyTable::take(std::size_t bytes) {
  if (bytes > left_) {
    left_ = std::max(bytes, kChunkBytes);
    chunks_.push_back(std::make_unique<char[]>(left_));
    char* begin = chunks_.back().get();
    left_ -= bytes;
    next_ = begin + bytes;
    return begin;
  }
  char* begin = next_;
  next_ += bytes;
  left_ -= bytes;
  return begin;
}

void KeyTable::add(const storage::Object& object) {
  const std::string_view folder = folder_of(object.key);
  if (folders_.empty() || folders_.back() != folder) folders_.emplace_back(folder);
  const std::string_view name = std::string_view(object.key).substr(folder.size());
  const auto length = static_cast<std::uint16_t>(std::min<std::size_t>(name.size(), UINT16_MAX));
  char* text = take(sizeof length + length + object.version.size() + 1);
  std::memcpy(text, &length, sizeof length);
  std::memcpy(text + sizeof length, name.data(), length);
  std::memcpy(text + sizeof length + length, object.version.c_str(), object.version.size() + 1);
  rows_.emplace_back(object.size, text, static_cast<std::uint32_t>(folders_.size() - 1));
  without_size_ += object.size == storage::kSizeUnknown;
}

void KeyTable::label_by_folder(std::string_view prefix) {
  std::vector<std::int32_t> labels(folders_.size(), -1);
  const Labelled folders{
      .size = folders_.size(),
      .name = [&](std::uint64_t folder) { return folders_[folder]; },
      .set = [&](std::uint64_t folder, std::int32_t label) { labels[folder] = label; }};
  loader::label_by_folder(folders, prefix);
  for (Row& row : rows_)
    row.label = labels[row.folder];
}

std::uint64_t KeyTable::set_bytes(std::uint64_t index, std::uint64_t bytes) const {
  std::uint64_t before = storage::kSizeUnknown;
  const bool first = rows_[index].size.compare_exchange_strong(before, bytes);
  return first ? bytes : before;
}

std::string_view KeyTable::name(const Row& row) const {
  std::uint16_t length = 0;
  std::memcpy(&length, row.text, sizeof length);
  return {row.text + sizeof length, length};
}

std::string KeyTable::key(std::uint64_t index) const {
  const Row& row = rows_[index];
  std::string key = folders_[row.folder];
  key += name(row);
  return key;
}

storage::Object KeyTable::object(std::uint64_t index) const {
  const Row& row = rows_[index];
  const std::string_view last = name(row);
  return {.key = key(index), .size = bytes(index), .version = last.data() + last.size()};
}

}  // namespace sluice::loader
