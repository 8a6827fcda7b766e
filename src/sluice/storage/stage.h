// sluice/storage/stage.h - a tarball, folder or bucket put where it is read from, once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/storage/plan.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace sluice::storage {

/// Written last: where it lies and fits, the folder is complete.
inline constexpr const char* kSentinel = ".sluice-staged.json";

struct StageOptions {
  std::filesystem::path from;  // a tar (plain, gzip, bzip2, xz, zstd), a folder, s3:// or gs://
  std::filesystem::path to;
  StageFilter filter;
  StageLimits limits;
  std::string endpoint{}, region{};  // of a bucket, as in StoreOptions
  bool anonymous = false;
  std::string sha256;          // 64 digits the archive must have; empty: not checked
  std::function<bool()> stop;  // asked between blocks; true ends with Errc::interrupted
  // Called once when another process, which it names, is staging there.
  std::function<void(const std::string& holder)> waiting;
};

struct StageReport {
  bool already = false;  // everything was there: nothing was done
  std::string source;    // name, without its folder
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t written = 0;  // files; the rest was there from an earlier attempt
  StageSkipped skipped;
  std::string listing;  // listing_hash of what lies there
};

/// Unpacks or copies the chosen files. Nothing is written before the whole list was found harmless.
/// Each file is whole or not there, so that after Ctrl-C, a crash or a full disk the same call
/// continues. Several processes may call it at once: one works, the others wait and find it done.
/// A folder that holds anything else is refused. When the source is gone and the sentinel fits,
/// that is enough; of a bucket it is enough in any case.
Result<StageReport> stage(const StageOptions& options, Progress& progress = Progress::silent());

}  // namespace sluice::storage
