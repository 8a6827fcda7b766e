// sluice/train/cuda/choices.h - the algorithms of products that a search found, kept for the next
// process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/cuda/table.h"

#include <filesystem>
#include <string>

namespace sluice::train::cuda {

/// A search is a measurement: two processes may settle differently, and then neither their times
/// nor their last bits agree. So what the first one found holds for those after it.
class KeptChoices {
 public:
  /// Offers the device what is kept for its name, architecture, driver and library. A cache: what
  /// cannot be read is not there, what cannot be written is searched again. Errc::usage: the first
  /// line of the file says other versions. A file without such a line is of an earlier program, and
  /// its name says them.
  static Result<KeptChoices> offer(const Table& table, Device* device, const DeviceFacts& facts,
                                   const std::filesystem::path& folder);
  /// Whether offer() would refuse.
  static Status check(const Table& table, const DeviceFacts& facts,
                      const std::filesystem::path& folder);
  /// Adds what the device has besides, under a lock: of two processes that searched at the same
  /// time both are kept, and for the same product the first.
  void keep(const Table& table, Device* device);

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_{};  // empty: nothing is kept
  std::string versions_{}, known_{};
};

}  // namespace sluice::train::cuda
