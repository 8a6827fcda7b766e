// sluice/cli/flags/storage.h - the flags of `sluice bench storage`, and the plan they come to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/visit/storage/rows.h"

#include <cstdint>
#include <string>

namespace sluice::cli {

/// As typed; empty: the default of the kind of input.
struct StorageFlags {
  std::string input;  // empty: generated
  std::string endpoint, region;
  bool anonymous = false;
  std::string modes, sizes, concurrency, bytes;
  std::int64_t operations = 0;  // 0: the default
  bool warm = false;
  int runs = 5;
  int samples = 2;
  double timeout_s = 60;
};

void add_storage_flags(CLI::App& command, StorageFlags& flags);

/// A value that is not accepted is one usage error that names it and what would be.
Result<visit::StoragePlan> storage_plan(const StorageFlags& flags, const Globals& globals);

/// "4k", "128K", "1m", "2g", "4096": bytes, by 1024.
Result<std::uint64_t> parse_bytes(const std::string& text, const std::string& flag);

}  // namespace sluice::cli
