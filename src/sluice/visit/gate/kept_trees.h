// sluice/visit/gate/kept_trees.h - revisions that were checked out and built once, kept for the
// next search.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file_lock.h"
#include "sluice/core/progress.h"
#include "sluice/visit/gate/work_tree.h"

#include <filesystem>
#include <string>

namespace sluice::visit {

/// `<cache>/trees/<repository and build>/<commit>`: what a build left, in no repository. Locked for
/// as long as this lives: trees that are measured must not be built by another.
class KeptTrees {
 public:
  /// Of the repository at `root`. What a killed process left half built is removed.
  static Result<KeptTrees> open(const std::filesystem::path& cache,
                                const std::filesystem::path& root, TreeBuild build);

  /// The folder of that commit, built now unless it is kept. Errors as build_tree(); a tree that
  /// does not build leaves nothing.
  Result<std::filesystem::path> tree(const std::string& sha, Progress& progress, int cancel_fd);
  /// Removes the trees that were not used for longest, beyond this many.
  void remove_oldest(std::size_t most) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  KeptTrees(std::filesystem::path root, std::filesystem::path folder, TreeBuild build,
            FileLock lock);
  std::filesystem::path root_;
  std::filesystem::path folder_;
  TreeBuild build_;
  FileLock lock_;
};

}  // namespace sluice::visit
