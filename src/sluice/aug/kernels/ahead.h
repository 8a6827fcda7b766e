// sluice/aug/kernels/ahead.h - asks for memory that is used soon, where prefetchers cannot know it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

inline constexpr std::size_t kLine = 64;  // bytes of a cache line

/// Whether stores want their lines fetched ahead: an x86-64 core reads a line before it writes to
/// it, and its prefetchers give up on streams of stores that run backwards or jump from row to row.
#if defined(__x86_64__)
inline constexpr bool kAskBeforeStores = true;
#else
inline constexpr bool kAskBeforeStores = false;
#endif

/// Asks for the line `offset` bytes from `at`, to be read. The address need not exist.
inline void ask_to_read(const std::uint8_t* at, std::ptrdiff_t offset = 0) {
  const auto address = reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(offset);
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}

/// The same for a line that will be written: it comes for this core alone.
inline void ask_to_write(const std::uint8_t* at, std::ptrdiff_t offset = 0) {
  const auto address = reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(offset);
#if defined(__x86_64__)
  // Compilers give this instruction only to sets that name it; older cores take it for nothing.
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
#endif
}

/// How far ahead of a walk along rows to ask: whole rows, about 3 KB of short ones. Within a row
/// that is written from its end, asking ahead gains nothing (bench/kernels/flip.md).
struct Ahead {
  std::ptrdiff_t src = 0;  // bytes
  std::ptrdiff_t dst = 0;
};
inline Ahead rows_ahead(std::size_t row_bytes, std::ptrdiff_t src_pitch, std::ptrdiff_t dst_pitch) {
  constexpr std::size_t kDistance = 3072;  // bytes
  if (row_bytes == 0) return {};
  const auto rows = static_cast<std::ptrdiff_t>((kDistance + row_bytes - 1) / row_bytes);
  return {rows * src_pitch, rows * dst_pitch};
}

}  // namespace sluice::aug::kernels
