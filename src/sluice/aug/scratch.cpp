// sluice/aug/scratch.cpp - memory a fast path works in.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/scratch.h"

#include <algorithm>
#include <new>

namespace sluice::aug {
namespace {

constexpr std::size_t kFirstBlock = std::size_t{1} << 16;

std::size_t rounded(std::size_t bytes) {
  const std::size_t with_slack = bytes + Scratch::kSlackBytes;
  return (with_slack + Scratch::kAlignment - 1) / Scratch::kAlignment * Scratch::kAlignment;
}

std::byte* allocate(std::size_t bytes) {
  return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{Scratch::kAlignment}));
}

}  // namespace

void Scratch::Free::operator()(std::byte* block) const {
  ::operator delete (block, std::align_val_t{kAlignment});
}

void* Scratch::take_bytes(std::size_t bytes) {
  const std::size_t wanted = rounded(bytes);
  if (blocks_.empty() || blocks_.back().size - blocks_.back().used < wanted) {
    const std::size_t size = std::max({wanted, kFirstBlock, capacity_bytes()});
    Block block;
    block.bytes.reset(allocate(size));
    block.size = size;
    blocks_.push_back(std::move(block));
  }
  Block& last = blocks_.back();
  void* piece = last.bytes.get() + last.used;
  last.used += wanted;
  return piece;
}

void Scratch::restart() {
  if (blocks_.size() > 1) {
    const std::size_t size = capacity_bytes();
    blocks_.clear();
    Block block;
    block.bytes.reset(allocate(size));
    block.size = size;
    blocks_.push_back(std::move(block));
  }
  for (Block& block : blocks_)
    block.used = 0;
}

std::size_t Scratch::capacity_bytes() const {
  std::size_t sum = 0;
  for (const Block& block : blocks_)
    sum += block.size;
  return sum;
}

}  // namespace sluice::aug
