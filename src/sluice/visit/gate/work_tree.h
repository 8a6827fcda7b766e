// sluice/visit/gate/work_tree.h - another revision beside this one: a git work tree, and its build.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"

#include <filesystem>
#include <string>

namespace sluice::visit {

/// A work tree of the repository at `root`, in a folder that need not exist. It goes with its
/// guard, and the repository forgets it, unless it is kept.
class WorkTree {
 public:
  WorkTree(std::filesystem::path root, std::filesystem::path tree);
  ~WorkTree();
  WorkTree(const WorkTree&) = delete;
  WorkTree& operator=(const WorkTree&) = delete;

  Status make(const std::string& sha, int cancel_fd);
  /// The repository forgets it, its files stay: a folder that is in no repository.
  Status keep();
  [[nodiscard]] const std::filesystem::path& tree() const { return tree_; }

 private:
  std::filesystem::path root_;
  std::filesystem::path tree_;
  bool made_ = false;
};

/// Of a tree that may be gone. Never by `git worktree prune`: trees of the user on a disk that is
/// not there at the moment would go with it.
Result<std::string> forget_work_tree(const std::filesystem::path& root,
                                     const std::filesystem::path& tree);

struct TreeBuild {
  std::string command;  // for the shell; blank: nothing is built
  double timeout_s = 3600;
};

/// `what` is built: "revision 1a2b". Errc::invalid_input: it does not build; Errc::timeout.
Status build_tree(const TreeBuild& build, const std::string& what,
                  const std::filesystem::path& folder, Progress& progress, int cancel_fd);

}  // namespace sluice::visit
