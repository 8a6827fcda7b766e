// sluice/publish/history.cpp - one question to git, outside of hooks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/history.h"

#include "sluice/core/file.h"
#include "sluice/core/process/child.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

namespace sluice::publish {
namespace fs = std::filesystem;
namespace {

constexpr double kHistoryLimit_s = 60;
constexpr int kNoAncestor = 1;
constexpr int kNotStarted = 127;

/// "fatal: Not a valid commit name 0123456789ab" without its line end.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return printable(text.substr(text.rfind('\n') + 1));
}

}  // namespace

fs::path sluice_tree_of(const fs::path& path) {
  std::error_code code;
  fs::path folder = fs::weakly_canonical(fs::absolute(path), code);
  while (!code && !folder.empty()) {
    if (fs::exists(folder / ".git", code))
      return fs::exists(folder / "src/sluice/publish", code) ? folder : fs::path();
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
    code.clear();
  }
  return {};
}

Status check_in_history(const std::string& commit, const fs::path& tree) {
  ChildOptions git;
  git.command = {"/usr/bin/env", "git",           "-C",   tree.string(),
                 "merge-base",   "--is-ancestor", commit, "HEAD"};
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
    git.environment[name] = std::nullopt;
  git.environment["LC_ALL"] = "C";
  git.timeout_s = kHistoryLimit_s;
  SLUICE_TRY(const ChildResult said, run_child(git));
  if (said.status == 0) return ok;
  std::string why =
      fmt::format("which git does not find in {} ({})", shown(tree), last_line(said.output));
  if (said.status == kNoAncestor)
    why = fmt::format("which is not in the history of {}", shown(tree));
  if (said.status == kNotStarted)
    why = "and whether that is in the history git would say, which is not installed";
  return Error{Errc::usage, std::move(why)};
}

}  // namespace sluice::publish
