// sluice/storage/cache/cache.cpp - reads through the folder: hit, or fetch and fill.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/cache/cache.h"

#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/storage/cache/flights.h"
#include "sluice/storage/cache/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <sys/stat.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::storage {
namespace {

using std::chrono::steady_clock;

/// Where a read lies in one block.
struct Piece {
  EntryId id;
  std::uint64_t begin = 0;        // of the block, in the object
  std::uint64_t block_bytes = 0;  // of this block; the last one is shorter
  std::uint64_t offset = 0;       // in the block
  std::span<std::byte> out;

  [[nodiscard]] std::uint64_t key() const {
    std::uint64_t key = 0;
    std::memcpy(&key, id.digest.data(), sizeof key);
    return key;
  }
};

/// Buffers for blocks in flight; two are kept, so that a burst does not stay in memory.
class Scratch {
 public:
  std::unique_ptr<ReadBuffer> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<ReadBuffer>();
    auto buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void give_back(std::unique_ptr<ReadBuffer> buffer) {
    const std::lock_guard lock(mutex_);
    if (free_.size() < 2) free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<ReadBuffer>> free_;
};

/// The files whose checksum this process has seen to be right, and when it last wrote down a read.
class Known {
 public:
  bool verified(std::uint64_t key, std::uint64_t inode) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(key);
    return found != files_.end() && found->second.inode == inode;
  }
  void verify(std::uint64_t key, std::uint64_t inode) {
    const std::lock_guard lock(mutex_);
    files_[key] = {inode, steady_clock::time_point::min()};
  }
  bool touch_due(std::uint64_t key, steady_clock::duration interval) {
    const auto now = steady_clock::now();
    const std::lock_guard lock(mutex_);
    auto& last = files_[key].touched;
    if (last != steady_clock::time_point::min() && now - last < interval) return false;
    last = now;
    return true;
  }

 private:
  struct File {
    std::uint64_t inode = 0;
    steady_clock::time_point touched = steady_clock::time_point::min();
  };
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, File> files_;
};

struct Counts {
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> shared{0};
  std::atomic<std::uint64_t> hit_bytes{0};
  std::atomic<std::uint64_t> miss_bytes{0};
  std::atomic<std::uint64_t> fills{0};
  std::atomic<std::uint64_t> fill_failures{0};
  std::atomic<std::uint64_t> corrupt{0};
  std::atomic<std::uint64_t> bypassed{0};
};

class CachedStore final : public ObjectStore {
 public:
  CachedStore(std::shared_ptr<ObjectStore> inner, std::unique_ptr<CacheFolder> folder,
              const CacheOptions& options)
      : inner_(std::move(inner)), folder_(std::move(folder)), options_(options) {
    if (options_.store_id.empty()) options_.store_id = inner_->name();
  }

  std::string name() const override { return inner_->name(); }
  Status list(std::string_view prefix, const Page& page) override {
    return inner_->list(prefix, page);
  }
  Status list_names(std::string_view prefix, const Page& page) override {
    return inner_->list_names(prefix, page);
  }
  Result<Object> stat(std::string_view key) override { return inner_->stat(key); }
  Result<std::span<const std::byte>> read(const Object& object, std::uint64_t offset,
                                          std::size_t size, ReadBuffer& buffer) override;
  void cancel() override {
    flights_.cancel();
    inner_->cancel();
  }
  Json counters() const override;

 private:
  Status read_piece(const Object& object, const Piece& piece);
  Status fetch(const Object& object, const Piece& piece);
  Status fetch_bare(const Object& object, const Piece& piece);
  bool read_entry(const Piece& piece);
  void fill(const Piece& piece, std::span<const std::byte> block);

  std::shared_ptr<ObjectStore> inner_;
  std::unique_ptr<CacheFolder> folder_;
  CacheOptions options_;
  Flights flights_;
  Scratch scratch_;
  Known known_;
  Counts counts_;
  std::atomic<steady_clock::rep> no_fill_before_{
      steady_clock::time_point::min().time_since_epoch().count()};
  std::atomic<bool> warned_{false};
};

Result<std::span<const std::byte>> CachedStore::read(const Object& object, std::uint64_t offset,
                                                     std::size_t size, ReadBuffer& buffer) {
  const bool inside = offset <= object.size && size <= object.size - offset;
  if (object.version.empty() || !inside || size == 0) {  // the inner store has the words for it
    if (object.version.empty()) ++counts_.bypassed;
    return inner_->read(object, offset, size, buffer);
  }
  const std::span<std::byte> out = buffer.take(size);
  for (std::size_t done = 0; done < size;) {
    if (flights_.cancelled()) {
      return Error{Errc::interrupted,
                   fmt::format("{}: {}: interrupted", name(), printable(object.key))};
    }
    const std::uint64_t at = offset + done;
    const std::uint64_t block = at / options_.block_bytes;
    Piece piece;
    piece.id = entry_id(options_.store_id, object, options_.block_bytes, block);
    piece.begin = block * options_.block_bytes;
    piece.block_bytes = std::min(options_.block_bytes, object.size - piece.begin);
    piece.offset = at - piece.begin;
    piece.out = out.subspan(done, static_cast<std::size_t>(std::min<std::uint64_t>(
                                      size - done, piece.block_bytes - piece.offset)));
    SLUICE_CHECK(read_piece(object, piece));
    done += piece.out.size();
  }
  return std::span<const std::byte>(out);
}

Status CachedStore::read_piece(const Object& object, const Piece& piece) {
  if (disk_bytes(piece.block_bytes) > folder_->max_bytes()) {
    ++counts_.bypassed;
    return fetch_bare(object, piece);
  }
  if (read_entry(piece)) {
    ++counts_.hits;
    counts_.hit_bytes += piece.out.size();
    return ok;
  }
  const Flights::Seat seat(flights_, piece.key());
  ++counts_.misses;
  counts_.miss_bytes += piece.out.size();
  if (!seat.leads()) ++counts_.shared;
  if (read_entry(piece)) return ok;  // of the flight waited for, or of one that landed just now
  if (flights_.cancelled()) {
    return Error{Errc::interrupted,
                 fmt::format("{}: {}: interrupted", name(), printable(object.key))};
  }
  const bool may_fill = steady_clock::now().time_since_epoch().count() >= no_fill_before_.load();
  return seat.leads() && may_fill ? fetch(object, piece) : fetch_bare(object, piece);
}

/// Only what was asked for: the folder cannot take it.
Status CachedStore::fetch_bare(const Object& object, const Piece& piece) {
  auto buffer = scratch_.take();
  auto bytes = inner_->read(object, piece.begin + piece.offset, piece.out.size(), *buffer);
  if (!bytes) return std::move(bytes).error();
  std::memcpy(piece.out.data(), bytes->data(), piece.out.size());
  scratch_.give_back(std::move(buffer));
  return ok;
}

Status CachedStore::fetch(const Object& object, const Piece& piece) {
  auto buffer = scratch_.take();
  auto block =
      inner_->read(object, piece.begin, static_cast<std::size_t>(piece.block_bytes), *buffer);
  if (!block) return std::move(block).error();
  std::memcpy(piece.out.data(), block->data() + piece.offset, piece.out.size());
  fill(piece, *block);
  scratch_.give_back(std::move(buffer));
  return ok;
}

void CachedStore::fill(const Piece& piece, std::span<const std::byte> block) {
  const auto inode = folder_->fill(piece.id, block);
  if (inode) {
    ++counts_.fills;
    known_.verify(piece.key(), *inode);
    return;
  }
  ++counts_.fill_failures;
  no_fill_before_ = (steady_clock::now() + options_.retry_after).time_since_epoch().count();
  if (!warned_.exchange(true))
    log::warn("{}; reading on from {} without it", inode.error().message, name());
}

/// False: not there, or damaged and therefore removed.
bool CachedStore::read_entry(const Piece& piece) {
  const Descriptor file = folder_->open_entry(piece.id);
  if (file.get() < 0) return false;
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return false;
  const auto inode = static_cast<std::uint64_t>(info.st_ino);
  bool good = false;
  if (known_.verified(piece.key(), inode)) {
    good = read_at(file.get(), piece.offset, piece.out);
  } else {
    good = piece.out.size() == piece.block_bytes
               ? read_verified(file.get(), piece.id, piece.out)
               : verify(file.get(), piece.id, piece.block_bytes) &&
                     read_at(file.get(), piece.offset, piece.out);
    if (good) known_.verify(piece.key(), inode);
  }
  if (!good) {
    ++counts_.corrupt;
    folder_->remove(piece.id);
    return false;
  }
  if (known_.touch_due(piece.key(), options_.touch_interval)) touch(file.get());
  return true;
}

Json CachedStore::counters() const {
  return Json{{"hits", counts_.hits.load()},
              {"misses", counts_.misses.load()},
              {"shared", counts_.shared.load()},
              {"hit_bytes", counts_.hit_bytes.load()},
              {"miss_bytes", counts_.miss_bytes.load()},
              {"fills", counts_.fills.load()},
              {"fill_failures", counts_.fill_failures.load()},
              {"corrupt", counts_.corrupt.load()},
              {"evictions", folder_->evictions()},
              {"evicted_bytes", folder_->evicted_bytes()},
              {"bypassed", counts_.bypassed.load()},
              {"bytes", folder_->bytes()},
              {"inner", inner_->counters()}};
}

}  // namespace

Result<std::shared_ptr<ObjectStore>> open_cached(std::shared_ptr<ObjectStore> inner,
                                                 const CacheOptions& options) {
  if (options.folder.empty()) return Error{Errc::usage, "cache folder: is empty; give a path"};
  if (options.block_bytes == 0 || options.block_bytes % 4096 != 0) {
    return Error{Errc::usage, fmt::format("cache block of {} bytes: give a multiple of 4096",
                                          options.block_bytes)};
  }
  if (options.max_bytes < disk_bytes(1)) {
    return Error{Errc::usage, fmt::format("cache size of {} bytes: give at least {}",
                                          options.max_bytes, disk_bytes(1))};
  }
  SLUICE_TRY(auto folder, CacheFolder::open(options.folder, options.max_bytes, options.open_wait));
  return std::shared_ptr<ObjectStore>(
      std::make_shared<CachedStore>(std::move(inner), std::move(folder), options));
}

}  // namespace sluice::storage
