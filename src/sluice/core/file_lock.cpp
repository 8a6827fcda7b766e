// sluice/core/file_lock.cpp - flock on a file, its holder's name in it, and a wait with an end.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file_lock.h"

#include "sluice/core/file.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace sluice {
namespace fs = std::filesystem;
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kLookEveryMs = 20;  // flock has no time limit
constexpr const char* kHolderStart = "process ";

bool is_plain_word(const std::string& word) {
  return !word.empty() && word.front() != '-' && std::ranges::all_of(word, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// "sluice baseline promote": program and command, never an argument, which may be a secret.
std::string own_command() {
  const auto text = read_text_file("/proc/self/cmdline", 1 << 20);
  if (!text) return "unknown";
  const std::vector<std::string> words = split(*text, '\0');
  std::string command = words.empty() ? "unknown" : fs::path(words.front()).filename().string();
  constexpr std::size_t kMostWords = 3;
  for (std::size_t i = 1; i < std::min(words.size(), kMostWords) && is_plain_word(words[i]); ++i)
    command += " " + words[i];
  return command;
}

bool is_same_file(int fd, const fs::path& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/// Best effort: the lock holds without it.
void write_holder(int fd) {
  const std::string text = fmt::format("{}{} ({})\n", kHolderStart, ::getpid(), own_command());
  std::ignore = ::ftruncate(fd, 0);
  std::ignore = ::pwrite(fd, text.data(), text.size(), 0);
}

/// Sleeps a little; true when the user wants to stop.
bool cancelled_while_waiting(const LockWait& wait) {
  if (stop_requested() || (wait.stop && wait.stop())) return true;
  pollfd cancel{wait.cancel_fd, POLLIN, 0};
  return ::poll(&cancel, 1, kLookEveryMs) > 0 && cancel.revents != 0;
}

/// Waits until `fd` is locked. Nothing: it is, or the file system has no locks.
std::optional<Error> lock_descriptor(int fd, const fs::path& file, const std::string& what,
                                     const LockWait& wait, SteadyClock::time_point start,
                                     bool& told) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return std::nullopt;
    std::string holder = holder_of(file);
    if (holder.empty()) holder = "another process";
    const double waited_s = std::chrono::duration<double>(SteadyClock::now() - start).count();
    if (wait.limit_s <= 0)
      return Error{Errc::usage, fmt::format("{}: {} is writing it", what, holder)};
    if (waited_s >= wait.limit_s)
      return Error{Errc::timeout, fmt::format("{}: {} still holds {} after {:g} s", what, holder,
                                              shown(file.filename()), wait.limit_s)};
    if (!told && wait.waiting) wait.waiting(holder);
    told = true;
    if (cancelled_while_waiting(wait))
      return Error{Errc::interrupted,
                   fmt::format("{}: interrupted while waiting for {}", what, holder)};
  }
  return std::nullopt;
}

}  // namespace

FileLock::FileLock(Descriptor fd, fs::path file, LockFile left)
    : fd_(std::move(fd)), file_(std::move(file)), left_(left) {}

FileLock::FileLock(FileLock&& other) noexcept
    : fd_(std::move(other.fd_)), file_(std::move(other.file_)), left_(other.left_) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this == &other) return *this;
  let_go();
  fd_ = std::move(other.fd_);
  file_ = std::move(other.file_);
  left_ = other.left_;
  return *this;
}

FileLock::~FileLock() {
  let_go();
}

void FileLock::let_go() {
  // Removed while it is held: whoever waits for it sees that it is gone, and locks the next one.
  if (fd_.open() && left_ == LockFile::removed && is_same_file(fd_.get(), file_))
    ::unlink(file_.c_str());
  fd_.reset();
}

Result<FileLock> FileLock::take(const fs::path& file, const std::string& what, const LockWait& wait,
                                LockFile left) {
  const auto start = SteadyClock::now();
  bool told = false;
  for (;;) {
    Descriptor fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!fd.open())
      return Error{Errc::io, fmt::format("{}: cannot be written: {}", shown(file), why(errno))};
    if (auto problem = lock_descriptor(fd.get(), file, what, wait, start, told))
      return std::move(*problem);
    if (!is_same_file(fd.get(), file)) continue;  // its holder has removed it
    write_holder(fd.get());
    return FileLock(std::move(fd), file, left);
  }
}

fs::path lock_beside(const fs::path& folder) {
  std::error_code ignored;
  fs::path whole = fs::absolute(folder, ignored).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // "DIR/"
  return whole.parent_path() / fmt::format(".{}.lock", whole.filename().string());
}

std::string holder_of(const fs::path& file) {
  constexpr std::uint64_t kMostBytes = 4096;
  const auto text = read_text_file(file, kMostBytes);
  if (!text || !text->starts_with(kHolderStart)) return "";
  return printable(text->substr(0, text->find('\n')));
}

}  // namespace sluice
