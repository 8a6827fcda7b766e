// tests/aug/count_allocations.cpp - operator new that counts. A file of its own: where the compiler
// sees both sides it takes malloc for a mismatch.
// SPDX-License-Identifier: Apache-2.0
#include "tests/aug/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> counted{0};
}  // namespace

long sluice::aug::testing::allocations() {
  return counted.load(std::memory_order_relaxed);
}

// Every form of the single-object operators: a sanitizer has its own for those left out, and finds
// that memory from one goes back through the other.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  counted.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  counted.fetch_add(1, std::memory_order_relaxed);
  void* memory = nullptr;
  return posix_memalign(&memory, static_cast<std::size_t>(alignment), size == 0 ? 1 : size) == 0
             ? memory
             : nullptr;
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* memory = operator new(size, alignment, std::nothrow)) return memory;
  throw std::bad_alloc();
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
