// sluice/core/file.cpp - whole-file reads and atomic writes over POSIX calls.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"

#include "sluice/core/descriptor.h"
#include "sluice/core/temporary_files.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace sluice {
namespace fs = std::filesystem;

std::string shown(const fs::path& path) {
  return printable(path.native());
}

namespace {

Error os_error(const fs::path& path, std::string_view action, int error_number) {
  const bool absent = error_number == ENOENT || error_number == ENOTDIR;
  return {absent ? Errc::not_found : Errc::io,
          fmt::format("{}: cannot {}: {}", shown(path), action, why(error_number))};
}

Error over_limit(const fs::path& path, std::uint64_t limit) {
  return {Errc::invalid_input,
          fmt::format("{}: larger than the {} bytes accepted here", shown(path), limit)};
}

/// Opens without waiting for the writer of a FIFO (a hostile one would hang us), then reads as
/// usual.
Result<Descriptor> open_to_read(const fs::path& path, std::uint64_t limit, std::uint64_t& size) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return os_error(path, "open", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return os_error(path, "read", errno);
  if (S_ISDIR(info.st_mode)) {
    return Error{Errc::invalid_input, fmt::format("{}: is a folder, not a file", shown(path))};
  }
  size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  if (size > limit) return over_limit(path, limit);
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return os_error(path, "read", errno);
  }
  return file;
}

/// Trusts the reported size only as a hint: /proc says 0, and a file may grow while it is read.
template <class Bytes>
Result<Bytes> read_file(const fs::path& path, std::uint64_t limit) {
  std::uint64_t size = 0;
  SLUICE_TRY(const Descriptor file, open_to_read(path, limit, size));
  constexpr std::uint64_t kSmallest = 4096;
  Bytes bytes;
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) {
      bytes.resize(bytes.empty() ? std::max(size + 1, kSmallest) : bytes.size() * 2);
    }
    const ssize_t n = ::read(file.get(), bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(path, "read", errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > limit) return over_limit(path, limit);
  }
  bytes.resize(used);
  return bytes;
}

constexpr std::string_view kTemporaryStart = ".sluice-";
constexpr std::string_view kTemporaryEnd = ".tmp";

std::uint64_t random_suffix() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) == static_cast<ssize_t>(sizeof bits)) return bits;
  static std::atomic<std::uint64_t> count{0};  // O_EXCL catches a collision: this need not be good
  return (static_cast<std::uint64_t>(::getpid()) << 32U) + ++count;
}

/// A new file under a name of its own; removed again unless it was renamed. Its lock says that its
/// writer lives.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(const fs::path& folder) {
    constexpr int kAttempts = 16;
    int error_number = EEXIST;
    for (int i = 0; i < kAttempts && error_number == EEXIST; ++i) {
      fs::path path =
          folder / fmt::format("{}{:016x}{}", kTemporaryStart, random_suffix(), kTemporaryEnd);
      OwnTemporary own(path.native());
      Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      error_number = errno;
      if (!fd.open()) continue;
      own.made();
      if (claim(fd.get())) return TemporaryFile(std::move(fd), std::move(path), std::move(own));
      error_number = EEXIST;
    }
    return os_error(folder, "create a file in this folder", error_number);
  }
  TemporaryFile(TemporaryFile&& other) noexcept
      : fd_(std::move(other.fd_)),
        path_(std::exchange(other.path_, {})),
        own_(std::move(other.own_)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  /// All of `content`. 0, or errno.
  int write(std::string_view content, Flush flush) {
    while (!content.empty()) {
      const ssize_t n = ::write(fd_.get(), content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      content.remove_prefix(static_cast<std::size_t>(n));
    }
    if (flush == Flush::later) return 0;
    // EINVAL: a file system that cannot flush; then nothing better is to be had.
    if (::fsync(fd_.get()) != 0 && errno != EINVAL) return errno;
    return 0;
  }
  void keep_mode(mode_t mode) { std::ignore = ::fchmod(fd_.get(), mode & 07777U); }
  int rename_to(const fs::path& target) {
    // A copy is closed, which is when network file systems report a full disk; the lock stays.
    Descriptor copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy.open()) return errno;
    if (const int error_number = copy.close(); error_number != 0) return error_number;
    if (::rename(path_.c_str(), target.c_str()) != 0) return errno;
    path_.clear();
    return 0;
  }

 private:
  /// False: somebody took it for stale in the moment before it was locked, and removes it.
  static bool claim(int fd) {
    struct stat info {};
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
    return ::fstat(fd, &info) != 0 || info.st_nlink > 0;
  }
  TemporaryFile(Descriptor fd, fs::path path, OwnTemporary own)
      : fd_(std::move(fd)), path_(std::move(path)), own_(std::move(own)) {}
  Descriptor fd_;
  fs::path path_;
  OwnTemporary own_;
};

/// Makes the rename itself survive a power cut. Best effort: the content is already safe.
void flush_folder(const fs::path& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) std::ignore = ::fsync(fd.get());
}

/// True the first time that this process asks for the folder.
bool is_first_write(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::lock_guard lock(mutex);
  return known.insert(folder.native()).second;
}

/// The nearest parent (or the path itself) that exists and is no folder; empty if there is none.
fs::path obstacle(const fs::path& path) {
  for (fs::path part = path; !part.empty(); part = part.parent_path()) {
    std::error_code ec;
    const fs::file_status status = fs::status(part, ec);
    if (fs::exists(status)) return fs::is_directory(status) ? fs::path() : part;
    if (part == part.parent_path()) break;
  }
  return {};
}

}  // namespace

Result<std::string> read_text_file(const fs::path& path, std::uint64_t limit_bytes) {
  return read_file<std::string>(path, limit_bytes);
}

Result<std::vector<std::uint8_t>> read_binary_file(const fs::path& path,
                                                   std::uint64_t limit_bytes) {
  return read_file<std::vector<std::uint8_t>>(path, limit_bytes);
}

Status write_file_atomic(const fs::path& path, std::string_view content, Flush flush) {
  fs::path target = path;
  struct stat info {};
  const bool replaces = ::stat(path.c_str(), &info) == 0;
  if (replaces && !S_ISREG(info.st_mode)) {
    // Renaming over it would destroy a device or pipe.
    return Error{Errc::io, fmt::format("{}: cannot write: {}", shown(path),
                                       S_ISDIR(info.st_mode) ? "it is a folder"
                                                             : "it is not a regular file")};
  }
  if (replaces) {  // a link stays a link: what it points to is replaced
    std::error_code ec;
    target = fs::canonical(path, ec);
    if (ec) return os_error(path, "write", ec.value());
  }
  if (!target.has_filename()) {
    return Error{Errc::io, fmt::format("{}: cannot write: this names no file", shown(path))};
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (const fs::path blocked = obstacle(folder); !blocked.empty()) {
    return Error{Errc::io,
                 fmt::format("{}: cannot write: {} is not a folder", shown(path), shown(blocked))};
  }
  if (is_first_write(folder)) remove_stale_temporaries(folder);
  SLUICE_TRY(TemporaryFile temporary, TemporaryFile::create(folder));
  if (replaces) temporary.keep_mode(info.st_mode);
  int error_number = temporary.write(content, flush);
  if (error_number == 0) error_number = temporary.rename_to(target);
  if (error_number != 0) return os_error(path, "write", error_number);
  if (flush == Flush::now) flush_folder(folder);
  return ok;
}

bool link_file_atomic(const fs::path& from, const fs::path& path) {
  std::error_code problem;
  if (fs::is_symlink(path, problem)) return false;  // what it points to would not be replaced
  const fs::path name = path.parent_path() /
                        fmt::format("{}{:016x}{}", kTemporaryStart, random_suffix(), kTemporaryEnd);
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return false;
  const bool renamed = ::rename(name.c_str(), path.c_str()) == 0;
  // Two names of one file are left as they are by a rename: this one goes.
  std::ignore = ::unlink(name.c_str());
  if (renamed) flush_folder(path.parent_path());
  return renamed;
}

bool is_temporary_name(std::string_view file_name) {
  constexpr std::size_t kDigits = 16;
  if (file_name.size() != kTemporaryStart.size() + kDigits + kTemporaryEnd.size()) return false;
  return file_name.starts_with(kTemporaryStart) && file_name.ends_with(kTemporaryEnd) &&
         file_name.substr(kTemporaryStart.size(), kDigits).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

void remove_stale_temporaries(const fs::path& folder) {
  std::error_code ec;
  fs::directory_iterator it(folder, ec);
  for (const fs::directory_iterator end; !ec && it != end; it.increment(ec)) {
    if (!is_temporary_name(it->path().filename().native())) continue;
    const Descriptor file(
        ::open(it->path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (file.open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(it->path().c_str());
  }
}

Status create_folders(const fs::path& path) {
  std::error_code ec;
  std::error_code ignored;
  fs::create_directories(path, ec);
  if (fs::is_directory(path, ignored)) return ok;
  if (const fs::path blocked = obstacle(path); !blocked.empty()) {
    return Error{Errc::io, fmt::format("{}: cannot create this folder: {} is not a folder",
                                       shown(path), shown(blocked))};
  }
  const int error_number = ec ? ec.value() : ENOENT;
  return Error{Errc::io,
               fmt::format("{}: cannot create this folder: {}", shown(path), why(error_number))};
}

}  // namespace sluice
