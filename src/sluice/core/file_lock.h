// sluice/core/file_lock.h - one process at a time: a locked file that says who holds it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/descriptor.h"
#include "sluice/core/result.h"

#include <filesystem>
#include <functional>
#include <string>

namespace sluice {

struct LockWait {
  double limit_s = 0;            // 0: a lock that is held is refused at once
  int cancel_fd = -1;            // readable: give up
  std::function<bool()> stop{};  // true: give up; asked before every look
  std::function<void(const std::string& holder)> waiting{};  // once, when it has to be waited for
};

/// What is left of the file when the lock is let go. One that a killed process leaves hurts nobody.
enum class LockFile { removed, kept };

/// Held until it goes, or its process does; threads of one process exclude each other too. A store
/// that is read, changed and written back is locked from the reading to the writing.
class FileLock {
 public:
  /// `what` is what an error calls the thing that is locked, such as its folder. Errc::usage when
  /// another process holds it and nothing is waited for, Errc::timeout at the limit, both naming
  /// the holder by process and command; Errc::interrupted. A file system without locks keeps
  /// nobody out.
  static Result<FileLock> take(const std::filesystem::path& file, const std::string& what,
                               const LockWait& wait = {}, LockFile left = LockFile::removed);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  FileLock(Descriptor fd, std::filesystem::path file, LockFile left);
  void let_go();
  Descriptor fd_;
  std::filesystem::path file_;
  LockFile left_;
};

/// In a folder whose files are changed in place.
inline constexpr const char* kLockInFolder = ".lock";
/// `.NAME.lock` beside a folder that is made under another name and then put in its place.
std::filesystem::path lock_beside(const std::filesystem::path& folder);

/// "process 1234 (sluice quick)", as the last holder of this lock file wrote it; empty for a file
/// that none of ours wrote.
std::string holder_of(const std::filesystem::path& file);

}  // namespace sluice
