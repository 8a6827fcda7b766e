// sluice/visit/gate/kept_trees.cpp - a mark beside a tree says that its build came to its end.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/kept_trees.h"

#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/core/utc.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace sluice::visit {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kKeyDigits = 16;
constexpr std::size_t kTreeDigits = 12;  // equal lengths: a path's length can move a program's time
constexpr const char* kBuilt = ".built";

fs::path mark_of(const fs::path& tree) {
  fs::path mark = tree;
  return mark += kBuilt;
}

}  // namespace

KeptTrees::KeptTrees(fs::path root, fs::path folder, TreeBuild build, FileLock lock)
    : root_(std::move(root)),
      folder_(std::move(folder)),
      build_(std::move(build)),
      lock_(std::move(lock)) {}

Result<KeptTrees> KeptTrees::open(const fs::path& cache, const fs::path& root, TreeBuild build) {
  Sha256 key;
  key.update(root.string() + '\n' + build.command);
  fs::path folder = cache / "trees" / key.hex().substr(0, kKeyDigits);
  SLUICE_CHECK(create_folders(folder));
  SLUICE_TRY(FileLock lock, FileLock::take(folder / kLockInFolder, shown(folder)));
  std::error_code ignored;
  std::vector<fs::path> half_built;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_directory(ignored) && !fs::exists(mark_of(entry.path())))
      half_built.push_back(entry.path());
  for (const fs::path& tree : half_built) {
    fs::remove_all(tree, ignored);
    const auto forgotten = forget_work_tree(root, tree);
    (void)forgotten;  // or was not known
  }
  return KeptTrees(root, std::move(folder), std::move(build), std::move(lock));
}

Result<fs::path> KeptTrees::tree(const std::string& sha, Progress& progress, int cancel_fd) {
  const fs::path tree = folder_ / sha.substr(0, kTreeDigits);
  const fs::path mark = mark_of(tree);
  std::error_code ignored;
  if (fs::exists(mark) && fs::exists(tree)) {
    fs::last_write_time(mark, fs::file_time_type::clock::now(), ignored);
    return tree;
  }
  fs::remove(mark, ignored);
  WorkTree work(root_, tree);
  SLUICE_CHECK(work.make(sha, cancel_fd));
  SLUICE_CHECK(
      build_tree(build_, "revision " + sha.substr(0, kTreeDigits), tree, progress, cancel_fd));
  SLUICE_CHECK(work.keep());
  SLUICE_CHECK(write_file_atomic(mark, utc_now() + "\n"));
  return tree;
}

void KeptTrees::remove_oldest(std::size_t most) const {
  std::vector<std::pair<fs::file_time_type, fs::path>> marks;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored))
    if (entry.path().extension() == kBuilt)
      marks.emplace_back(entry.last_write_time(ignored), entry.path());
  std::ranges::sort(marks, std::greater<>());
  for (std::size_t i = most; i < marks.size(); ++i) {
    fs::path tree = marks[i].second;
    fs::remove(tree, ignored);  // the mark first: a tree without one is not whole
    fs::remove_all(tree.replace_extension(), ignored);
  }
}

}  // namespace sluice::visit
