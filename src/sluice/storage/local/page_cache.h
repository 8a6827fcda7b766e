// sluice/storage/local/page_cache.h - are files in the memory of the system, or must the disk be
// asked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace sluice::storage {

enum class CacheState {
  cold,     // at most 1 % of the pages looked at are resident
  warm,     // at least 99 %
  mixed,    // between
  unknown,  // could not be looked at: see `reason`
};
std::string_view to_string(CacheState state);

struct Residency {
  CacheState state = CacheState::unknown;
  double resident_share = 0;  // of the pages looked at; means nothing when unknown
  std::uint64_t files = 0;    // looked at
  std::uint64_t pages = 0;
  std::string reason{};  // why unknown
};

struct ResidencyOptions {
  std::size_t max_files = 256;        // a sample, drawn by `seed`; 0: all
  std::size_t max_bytes = 64U << 20;  // of each file, in windows spread over it
  std::uint64_t seed = 0;
};

/// By mincore() on a sample. Never an Error: a file that cannot be looked at makes it unknown.
Residency page_residency(std::span<const std::filesystem::path> files,
                         const ResidencyOptions& options = {});

/// Asks the system to forget the pages of these files (flush, then posix_fadvise). The system may
/// decline (pages mapped elsewhere, file systems in memory): look with page_residency() afterwards.
/// The Error names the first file that could not be opened or flushed.
Status drop_page_cache(std::span<const std::filesystem::path> files);

}  // namespace sluice::storage
