// sluice/results/run_folder.cpp - the folder of one run: made or continued, locked, and written
// file by file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/run_folder.h"

#include "sluice/core/descriptor.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace sluice::results {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLockName = ".lock";

/// What lies in a folder, the lock apart.
enum class Content { nothing, run, something_else };

Result<Content> content_of(const fs::path& folder) {
  std::error_code code;
  fs::directory_iterator it(folder, code);
  if (code)
    return Error{Errc::io, fmt::format("{}: cannot be listed: {}", shown(folder), code.message())};
  Content content = Content::nothing;
  for (const fs::directory_iterator end; it != end; it.increment(code)) {
    if (code)
      return Error{Errc::io,
                   fmt::format("{}: cannot be listed: {}", shown(folder), code.message())};
    const std::string name = it->path().filename().string();
    if (name == kLockName) continue;
    if (name == "results" || name == "env.json" || name == "resolved_config.yaml")
      return Content::run;
    content = Content::something_else;
  }
  return content;
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
  if (!resume && content != Content::nothing) {
    return Error{
        Errc::usage,
        fmt::format("{}: is not empty; name a new folder{}", shown(path),
                    content == Content::run ? ", or add --resume to continue the run in it" : "")};
  }
  return ok;
}

}  // namespace

class RunFolder::Lock {
 public:
  static Result<std::unique_ptr<Lock>> take(const fs::path& folder) {
    const fs::path path = folder / kLockName;
    auto lock = std::make_unique<Lock>();
    lock->file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock->file_.open())
      return Error{Errc::io, fmt::format("{}: cannot be written: {}", shown(path), why(errno))};
    while (::flock(lock->file_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) {
        return Error{
            Errc::usage,
            fmt::format("{}: another run is writing this folder; wait for it or name another "
                        "folder with --out",
                        shown(folder))};
      }
      break;  // a file system without locks: then nobody is kept out, and nobody is refused
    }
    return lock;
  }

 private:
  // It stays: removing it would let a third process lock a new file while a second holds the old
  // one.
  Descriptor file_;
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
  SLUICE_TRY(auto lock, Lock::take(path));
  SLUICE_TRY(content, content_of(path));
  SLUICE_CHECK(check_content(path, content, options.resume));
  SLUICE_CHECK(create_folders(path / "results"));
  return RunFolder(std::move(path), std::move(lock), content == Content::run);
}

Status RunFolder::write_environment(const Json& environment) const {
  return write_file_atomic(path_ / "env.json", to_text(environment));
}

Status RunFolder::write_config(std::string_view yaml) const {
  return write_file_atomic(path_ / "resolved_config.yaml", yaml);
}

Status RunFolder::write_report(std::string_view markdown, std::string_view html) const {
  SLUICE_CHECK(write_file_atomic(path_ / "report.md", markdown));
  return write_file_atomic(path_ / "report.html", html);
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
