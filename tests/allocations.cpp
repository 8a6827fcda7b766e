// tests/allocations.cpp - operator new that counts. In a file of its own: inlined, g++ takes
// its free() for a mistake.
// SPDX-License-Identifier: Apache-2.0
#include "tests/allocations.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> count{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++count;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, std::max(rounded, alignment));
}
}  // namespace

std::size_t sluice::testing_support::allocations() {
  return count;
}

// Every form of the single-object operators: a sanitizer has its own for those left out, and finds
// that memory from one goes back through the other.
void* operator new(std::size_t size) {
  if (void* memory = counted(size, alignof(std::max_align_t))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* memory = counted(size, static_cast<std::size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
