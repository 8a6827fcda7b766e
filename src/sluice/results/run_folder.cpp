// sluice/results/run_folder.cpp - the folder of one run: made or continued, locked, and written
// file by file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/run_folder.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/temporary_files.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <vector>

namespace sluice::results {
namespace fs = std::filesystem;
namespace {

/// Made again by every run; without a result there is nothing in them to keep.
constexpr std::string_view kMadeAgain[] = {"env.json",    "resolved_config.yaml",
                                           "steps.jsonl", "logs",
                                           "inputs",      "scratch",
                                           "samples",     "reference",
                                           "bundles"};

/// What lies in a folder, the lock apart.
enum class Content {
  nothing,
  unfinished,  // of a run of ours that came to nothing: killed, or refused, before its first result
  run,
  something_else,
};

Error not_listed(const fs::path& folder, const std::error_code& code) {
  return {Errc::io, fmt::format("{}: cannot be listed: {}", shown(folder), code.message())};
}

/// A file that is not empty, or a folder that holds one; temporary files of writers count nothing.
Result<bool> holds_something(const fs::directory_entry& entry) {
  std::error_code code;
  const auto is_full = [](const fs::directory_entry& one) {
    std::error_code ignored;
    if (one.is_symlink(ignored)) return true;
    if (one.is_directory(ignored)) return false;
    return !one.is_regular_file(ignored) || one.file_size(ignored) > 0;
  };
  if (entry.is_symlink(code) || !entry.is_directory(code)) return is_full(entry);
  fs::recursive_directory_iterator it(entry.path(), code);
  for (const fs::recursive_directory_iterator end; !code && it != end; it.increment(code))
    if (is_full(*it) && !is_temporary_name(it->path().filename().native())) return true;
  if (code) return not_listed(entry.path(), code);
  return false;
}

/// Generated images lie in `data`, beside their manifest.
bool is_made_again(const fs::directory_entry& entry, const std::string& name) {
  std::error_code ignored;
  if (name == "data") return fs::exists(entry.path() / "dataset.json", ignored);
  return std::ranges::find(kMadeAgain, name) != std::end(kMadeAgain);
}

Result<Content> content_of(const fs::path& folder) {
  std::error_code code;
  fs::directory_iterator it(folder, code);
  bool any = false;
  bool finished = false;
  bool named_as_run = false;
  for (const fs::directory_iterator end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.') && name.ends_with(".lock")) continue;
    any = true;
    named_as_run =
        named_as_run || name == "results" || name == "env.json" || name == "resolved_config.yaml";
    if (is_temporary_name(name) || is_made_again(*it, name)) continue;
    SLUICE_TRY(const bool something, holds_something(*it));
    finished = finished || something;
  }
  if (code) return not_listed(folder, code);
  if (!any) return Content::nothing;
  // Only a folder in which a run of ours was begun has a lock with its holder's name.
  if (!finished && !holder_of(folder / kLockInFolder).empty()) return Content::unfinished;
  return named_as_run ? Content::run : Content::something_else;
}

Status remove_all_but_the_lock(const fs::path& folder) {
  std::error_code code;
  fs::directory_iterator it(folder, code);
  std::vector<fs::path> left;
  for (const fs::directory_iterator end; !code && it != end; it.increment(code))
    if (it->path().filename() != kLockInFolder) left.push_back(it->path());
  for (const fs::path& path : left)
    if (!code) fs::remove_all(path, code);
  if (!code) return ok;
  return Error{Errc::io, fmt::format("{}: what an unfinished run left cannot be removed: {}",
                                     shown(folder), code.message())};
}

/// A folder that did not exist a moment ago: two runs started in the same second get two.
Result<fs::path> create_new(const fs::path& parent, const std::string& name) {
  SLUICE_CHECK(create_folders(parent));
  constexpr int kAttempts = 1000;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const fs::path path = parent / (attempt == 1 ? name : fmt::format("{}-{}", name, attempt));
    std::error_code code;
    if (fs::create_directory(path, code)) return path;
    if (code)
      return Error{Errc::io, fmt::format("{}: cannot be created: {}", shown(path), code.message())};
  }
  return Error{Errc::io, fmt::format("{}: {} folders of this name exist already",
                                     shown(parent / name), kAttempts)};
}

Status check_content(const fs::path& path, Content content, bool resume) {
  if (resume && content == Content::something_else) {
    return Error{
        Errc::usage,
        fmt::format("{}: is not a run folder (no results, env.json or resolved_config.yaml); "
                    "--resume continues the folder that --out named before",
                    shown(path))};
  }
  if (!resume && content != Content::nothing && content != Content::unfinished) {
    return Error{
        Errc::usage,
        fmt::format("{}: is not empty; name a new folder{}", shown(path),
                    content == Content::run ? ", or add --resume to continue the run in it" : "")};
  }
  return ok;
}

}  // namespace

struct RunFolder::Lock {
  FileLock file;
};

RunFolder::RunFolder(fs::path path, std::unique_ptr<Lock> lock, bool resumed)
    : path_(std::move(path)), lock_(std::move(lock)), resumed_(resumed) {}
RunFolder::RunFolder(RunFolder&&) noexcept = default;
RunFolder& RunFolder::operator=(RunFolder&&) noexcept = default;
RunFolder::~RunFolder() = default;

Result<RunFolder> RunFolder::open(const Options& options) {
  fs::path path = options.out;
  if (options.resume) {
    if (path.empty()) {
      return Error{Errc::usage, "--resume continues the folder that --out names; add --out DIR"};
    }
    std::error_code code;
    if (!fs::is_directory(path, code)) {
      return Error{
          Errc::not_found,
          fmt::format("{}: no such run folder; --resume continues one that exists", shown(path))};
    }
  } else if (path.empty()) {
    const std::string name =
        fmt::format("{}-{}-{}", options.utc.empty() ? utc_now(kUtcName) : options.utc,
                    file_name_part(options.name), file_name_part(options.profile));
    SLUICE_TRY(path, create_new(options.parent, name));
  } else {
    SLUICE_CHECK(create_folders(path));
  }
  // Looked at before the lock is taken, so that a folder of somebody else gets no lock file, and
  // again after it.
  SLUICE_TRY(Content content, content_of(path));
  SLUICE_CHECK(check_content(path, content, options.resume));
  auto lock = FileLock::take(path / kLockInFolder, shown(path), {}, LockFile::kept);
  if (!lock && lock.error().code == Errc::usage)
    return Error{Errc::usage, fmt::format("{}; wait for it or name another folder with --out",
                                          lock.error().message)};
  if (!lock) return lock.error();
  SLUICE_TRY(content, content_of(path));
  SLUICE_CHECK(check_content(path, content, options.resume));
  if (content == Content::unfinished) SLUICE_CHECK(remove_all_but_the_lock(path));
  SLUICE_CHECK(create_folders(path / "results"));
  auto held = std::make_unique<Lock>(Lock{std::move(*lock)});
  return RunFolder(std::move(path), std::move(held), content == Content::run);
}

Status RunFolder::write_environment(const Json& environment) const {
  return write_file_atomic(path_ / "env.json", to_text(environment));
}

Status RunFolder::write_config(std::string_view yaml) const {
  return write_file_atomic(path_ / "resolved_config.yaml", yaml);
}

Status RunFolder::write_report(std::string_view markdown, std::string_view html) const {
  // Not waited for: `sluice report` makes them again, and a busy disk takes 200 ms for each.
  SLUICE_CHECK(write_file_atomic(path_ / "report.md", markdown, Flush::later));
  return write_file_atomic(path_ / "report.html", html, Flush::later);
}

Status RunFolder::write_result(const fs::path& relative, const ResultFile& file) const {
  return write(results() / relative, file);
}

std::string file_name_part(std::string_view text) {
  std::string part;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    part += plain ? c : '-';
  }
  return part.find_first_not_of('.') == std::string::npos ? "unnamed" : part;
}

}  // namespace sluice::results
