/* sluice/measure/canary_v1.h - the frozen yardstick: three fixed pieces of work that never change.
   SPDX-License-Identifier: Apache-2.0

   Never edit this file or canary_v1.cpp: a change makes every stored number incomparable. A better
   canary is a new version beside it. It uses no room and no library, is compiled with fixed flags,
   and proves its own output. */
#pragma once

#include <cstdint>

namespace sluice_canary_v1 {

inline constexpr int kParts = 3;
const char* part_name(int part);          // "idct_resize", "gemm", "memory_read"
std::uint64_t expected_digest(int part);  // what run() must return
/* Allocates once; returns false when memory is short. */
bool prepare(int part);
/* One fixed unit of work, single-threaded; returns a digest of its output. */
std::uint64_t run(int part);

}  // namespace sluice_canary_v1
