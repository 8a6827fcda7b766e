// sluice/storage/local/open_files.cpp - a bounded set of files that stay open (and mapped) between
// reads.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/local/open_files.h"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace sluice::storage {

OpenFile::~OpenFile() {
  if (map_ != nullptr) ::munmap(const_cast<std::byte*>(map_), map_size_);
  if (fd_ >= 0) ::close(fd_);
}

int OpenFile::map_whole(std::size_t size) {
  if (size == 0) return 0;
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) return errno;
  map_ = static_cast<const std::byte*>(map);
  map_size_ = size;
  return 0;
}

std::shared_ptr<const OpenFile> OpenFiles::find(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

void OpenFiles::keep(const std::string& key, std::shared_ptr<const OpenFile> file) {
  std::list<Entry> gone;  // closed after the lock is
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    const auto old = found->second;
    by_key_.erase(found);
    gone.splice(gone.begin(), entries_, old);
  }
  entries_.emplace_front(key, std::move(file));
  by_key_.emplace(entries_.front().first, entries_.begin());
  while (entries_.size() > limit_) {
    by_key_.erase(entries_.back().first);
    gone.splice(gone.begin(), entries_, std::prev(entries_.end()));
  }
}

void OpenFiles::drop(std::string_view key) {
  std::list<Entry> gone;
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  const auto old = found->second;
  by_key_.erase(found);
  gone.splice(gone.begin(), entries_, old);
}

}  // namespace sluice::storage
