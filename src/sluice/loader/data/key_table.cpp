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
  rows_.push_back({.size = object.size,
                   .text = text,
                   .folder = static_cast<std::uint32_t>(folders_.size() - 1),
                   .label = -1});
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
  return {.key = key(index), .size = row.size, .version = last.data() + last.size()};
}

}  // namespace sluice::loader
