// sluice/env/collect.h - takes the snapshot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/env/environment.h"
#include "sluice/env/git.h"
#include "sluice/env/nvml.h"
#include "sluice/env/system_root.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::env {

struct CollectOptions {
  std::filesystem::path data_dir = ".";  // whose storage is described; need not exist
  bool refresh = false;                  // look again instead of answering from the cache
};

/// The machine we run on. Cached in the process per data_dir: a second call gives the identical
/// value. Nothing missing on the machine is an error; it becomes unknown with a reason.
Result<Environment> collect(const CollectOptions& options = {});

/// Where facts come from; tests bring their own.
struct Sources {
  SystemRoot root{};
  Nvml* nvml = nullptr;  // null: no GPUs, for the reason below
  std::string no_nvml_reason = "not asked for";
  GitOptions git{};
  std::vector<std::string> variables{};  // "NAME=value"
  std::string timestamp{};
};
Environment collect_from(const Sources& sources, const std::filesystem::path& data_dir);

}  // namespace sluice::env
