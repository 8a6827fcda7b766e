// sluice/core/folder_guard.h - a folder that goes, with all it holds, when its guard does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <system_error>
#include <utility>

namespace sluice {

/// Does not make the folder; one that was never made or was renamed away is no error.
class FolderGuard {
 public:
  explicit FolderGuard(std::filesystem::path path) : path_(std::move(path)) {}
  ~FolderGuard() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderGuard(const FolderGuard&) = delete;
  FolderGuard& operator=(const FolderGuard&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice
