// sluice/storage/source.h - where staged files come from: an archive or a folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/storage/destination.h"
#include "sluice/storage/stage.h"

#include <memory>

namespace sluice::storage {

class Source {
 public:
  virtual ~Source() = default;
  /// Bytes of the archive file; of a folder 0.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// What is to be staged; everything is looked at, nothing read.
  virtual Result<StagePlan> list(Progress& progress) = 0;
  /// Calls `put` for files of the plan that `wanted` asks for, in the order of the source, until
  /// that many were put.
  virtual Status unpack(const StagePlan& plan, std::uint64_t count,
                        const std::function<bool(const StageFile&)>& wanted,
                        const std::function<Status(const StageFile&, const ReadBlock&)>& put) = 0;
};

/// By what `options.from` is; a missing one is Errc::not_found.
Result<std::unique_ptr<Source>> open_source(const StageOptions& options);

/// SHA-256 of the archive; a folder has none.
Result<std::string> checksum(const StageOptions& options, Progress& progress);

}  // namespace sluice::storage
