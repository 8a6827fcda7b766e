// sluice/storage/slice_reader.cpp - small parts of large objects, read a block at a time where that
// is cheaper.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/slice_reader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <unistd.h>
#include <unordered_map>

namespace sluice::storage {
namespace {

constexpr std::size_t kAheadBlock = std::size_t{4} << 20;

std::size_t half_of_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::size_t{1} << 30;
  return static_cast<std::size_t>(pages) / 2 * static_cast<std::size_t>(page);
}

}  // namespace

/// What is known of blocks: how many slices of each are still to come and, when blocks are read
/// whole, their bytes.
class SliceReader::Blocks {
 public:
  struct Block {
    bool ready = false;
    std::optional<Error> error{};
    ReadBuffer memory{};
    std::span<const std::byte> bytes{};
    std::uint64_t touched = 0;  // reads_ at that time
  };

  Blocks(std::size_t count, std::size_t limit)
      : slices_(count), read_(count), begun_(count), limit_(limit) {}

  void expect(std::size_t block, std::uint64_t size) {
    ++slices_[block];
    ++expected_;
    expected_bytes_ += size;
  }

  /// True: it is worth telling the store of the block, and the caller will.
  bool begin(std::size_t block, std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (begun_[block] || !worth(block) || used_ + size > limit_) return false;
    begun_[block] = true;
    used_ += size;
    return true;
  }

  /// The block, being read or there; null when it is not worth it or there is no room. `mine`: the
  /// caller must read it and call done().
  std::shared_ptr<Block> get(std::size_t block, std::size_t size, bool& mine) {
    const std::lock_guard lock(mutex_);
    ++reads_;
    mine = false;
    if (const auto found = blocks_.find(block); found != blocks_.end()) {
      found->second->touched = reads_;
      return found->second;
    }
    if (!worth(block) || (used_ + size > limit_ && !make_room(size))) return nullptr;
    mine = true;
    used_ += size;
    auto made = std::make_shared<Block>();
    made->touched = reads_;
    blocks_.emplace(block, made);
    return made;
  }

  /// A slice of it was read, in whatever way; the last one of an epoch lets the block go.
  void count(std::size_t block, std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (++read_[block] < slices_[block]) return;
    read_[block] = 0;
    if (begun_[block] || blocks_.erase(block) > 0) used_ -= size;
    begun_[block] = false;
  }

  void done(std::size_t block, std::size_t size, Block& read,
            const Result<std::span<const std::byte>>& bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes)
      read.bytes = *bytes;
    else
      read.error = bytes.error();
    read.ready = true;
    if (!bytes && blocks_.erase(block) > 0) used_ -= size;
    ready_.notify_all();
  }

  /// Until it is there; the store that reads it has a limit of its own.
  Status wait(const Block& block) {
    std::unique_lock lock(mutex_);
    while (!block.ready) {
      if (cancelled_) return Error{Errc::interrupted, "stopped"};
      ready_.wait_for(lock, std::chrono::milliseconds(50));
    }
    if (block.error) return *block.error;
    return ok;
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    ready_.notify_all();
  }

 private:
  [[nodiscard]] bool worth(std::size_t block) const { return slices_[block] > read_[block] + 1; }

  /// Lets go of blocks of which nothing was taken for four times the reads that memory holds.
  bool make_room(std::size_t size) {
    const std::uint64_t mean =
        std::max<std::uint64_t>(expected_bytes_ / std::max<std::uint64_t>(expected_, 1), 1);
    const std::uint64_t long_ago = 4 * (limit_ / mean + 1);
    for (auto at = blocks_.begin(); at != blocks_.end() && used_ + size > limit_;) {
      if (at->second->ready && reads_ - at->second->touched > long_ago) {
        used_ -= at->second->bytes.size();
        at = blocks_.erase(at);
      } else {
        ++at;
      }
    }
    return used_ + size <= limit_;
  }

  std::vector<std::uint32_t> slices_;  // in each block
  std::vector<std::uint32_t> read_;    // of them in this epoch
  std::vector<bool> begun_;            // the store was told
  std::size_t limit_;
  std::uint64_t expected_ = 0, expected_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::unordered_map<std::size_t, std::shared_ptr<Block>> blocks_;
  std::size_t used_ = 0;  // bytes
  std::uint64_t reads_ = 0;
  bool cancelled_ = false;
};

SliceReader::SliceReader(std::shared_ptr<ObjectStore> store, std::vector<Object> objects,
                         const SliceOptions& options)
    : store_(std::move(store)), objects_(std::move(objects)) {
  const std::size_t request = store_->request_bytes();
  block_bytes_ = request > 0 ? request : kAheadBlock;
  std::size_t blocks = 0;
  for (const Object& object : objects_) {
    first_.push_back(blocks);
    blocks += static_cast<std::size_t>((object.size + block_bytes_ - 1) / block_bytes_);
  }
  const std::size_t ahead = options.ahead_bytes > 0 ? options.ahead_bytes : half_of_memory();
  blocks_ = std::make_unique<Blocks>(blocks, request > 0 ? options.memory_bytes : ahead);
}

SliceReader::~SliceReader() = default;

SliceReader::Range SliceReader::range(std::size_t object, std::uint64_t offset,
                                      std::uint64_t size) const {
  const std::uint64_t end = offset + size;
  if (size == 0 || size > block_bytes_ / 4 || end > objects_[object].size) return {0, 0};
  return {first_[object] + static_cast<std::size_t>(offset / block_bytes_),
          first_[object] + static_cast<std::size_t>((end - 1) / block_bytes_) + 1};
}

std::uint64_t SliceReader::begin_of(std::size_t object, std::size_t block) const {
  return (block - first_[object]) * std::uint64_t{block_bytes_};
}

std::size_t SliceReader::size_of(std::size_t object, std::size_t block) const {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(block_bytes_, objects_[object].size - begin_of(object, block)));
}

void SliceReader::expect(std::size_t object, std::uint64_t offset, std::uint64_t size) {
  const Range in = range(object, offset, size);
  for (std::size_t block = in.first; block < in.last; ++block)
    blocks_->expect(block, size);
}

Result<std::span<const std::byte>> SliceReader::read(std::size_t object, std::uint64_t offset,
                                                     std::size_t size, ReadBuffer& buffer) {
  const Range in = range(object, offset, size);
  const bool dear = store_->request_bytes() > 0 && in.first < in.last;
  for (std::size_t block = in.first; block < in.last && !dear; ++block)
    if (blocks_->begin(block, size_of(object, block)))
      store_->will_read(objects_[object], begin_of(object, block), size_of(object, block));
  auto bytes = dear ? read_blocks(in, object, offset, size, buffer)
                    : store_->read(objects_[object], offset, size, buffer);
  for (std::size_t block = in.first; block < in.last; ++block)
    blocks_->count(block, size_of(object, block));
  return bytes;
}

Result<std::span<const std::byte>> SliceReader::read_blocks(Range in, std::size_t object,
                                                            std::uint64_t offset, std::size_t size,
                                                            ReadBuffer& buffer) {
  const std::span<std::byte> out = buffer.take(size);
  for (std::size_t block = in.first; block < in.last; ++block) {
    const std::uint64_t begin = begin_of(object, block);
    const std::size_t bytes = size_of(object, block);
    bool mine = false;
    const auto held = blocks_->get(block, bytes, mine);
    if (!held) return store_->read(objects_[object], offset, size, buffer);
    if (mine)
      blocks_->done(block, bytes, *held,
                    store_->read(objects_[object], begin, bytes, held->memory));
    SLUICE_CHECK(blocks_->wait(*held));
    const std::uint64_t from = std::max(begin, offset);
    const std::uint64_t to = std::min(begin + bytes, offset + size);
    std::memcpy(out.data() + (from - offset), held->bytes.data() + (from - begin),
                static_cast<std::size_t>(to - from));
  }
  return std::span<const std::byte>(out);
}

void SliceReader::cancel() {
  blocks_->cancel();
  store_->cancel();
}

}  // namespace sluice::storage
