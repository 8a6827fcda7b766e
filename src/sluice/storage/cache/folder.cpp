// sluice/storage/cache/folder.cpp - the folder of a cache, over POSIX calls.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/cache/folder.h"

#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/storage/cache/scan.h"
#include "sluice/storage/format/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kFirstLine = "sluice cache ";
constexpr int kFolderVersion = 1;
constexpr std::size_t kHeaderBytes = 64;
constexpr milliseconds kLockToFill{250};

/// Less than all of it, so that not every fill has to look at every entry.
std::uint64_t filled_after_eviction(std::uint64_t max_bytes) {
  return max_bytes / 10 * 9;
}

/// The number after `name` in the text of the header; false when there is none.
bool field(std::string_view text, std::string_view name, std::uint64_t& value) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return false;
  const char* begin = text.data() + at + name.size();
  const auto parsed = std::from_chars(begin, text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr != begin;
}

/// 0, or errno.
int write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    offset += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

std::string header_text(int fd) {
  std::string text(kHeaderBytes, '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

/// A power cut may leave a file without its content, or with zeros for it.
bool is_zeros(std::string_view text) {
  return text.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

/// The mutex, then the flock; both or none.
class CacheFolder::Lock {
 public:
  Lock(CacheFolder& folder, milliseconds limit)
      : guard_(folder.mutex_, std::defer_lock), fd_(folder.header_.get()) {
    const auto deadline = steady_clock::now() + limit;
    // flock has no time limit, and GCC's thread sanitizer does not know a mutex that has one.
    while (!guard_.owns_lock() || ::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (!guard_.owns_lock() && guard_.try_lock()) continue;
      if (steady_clock::now() >= deadline) return;
      std::this_thread::sleep_for(milliseconds(1));
    }
    held_ = true;
  }
  ~Lock() {
    if (held_) ::flock(fd_, LOCK_UN);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  explicit operator bool() const { return held_; }

 private:
  std::unique_lock<std::mutex> guard_;
  int fd_;
  bool held_ = false;
};

struct CacheFolder::Temporary {
  Descriptor file;
  std::string name;  // below the folder
  std::uint64_t bytes = 0;
};

CacheFolder::CacheFolder(fs::path path, std::uint64_t max_bytes)
    : path_(std::move(path)), max_bytes_(max_bytes) {}

Error CacheFolder::failure(std::string_view action, int number) const {
  return {Errc::io, fmt::format("cache folder {}: cannot {}: {}", printable(path_.string()), action,
                                why(number))};
}

Result<std::unique_ptr<CacheFolder>> CacheFolder::open(const fs::path& path,
                                                       std::uint64_t max_bytes, milliseconds wait) {
  SLUICE_CHECK(create_folders(path));
  std::unique_ptr<CacheFolder> self(new CacheFolder(path, max_bytes));
  self->root_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (self->root_.get() < 0) return self->failure("open", errno);
  if (const std::string other = foreign_name(self->root_.get()); !other.empty()) {
    return Error{Errc::invalid_input,
                 fmt::format("cache folder {}: holds '{}' and is no cache; give an empty or a new "
                             "folder",
                             printable(path.string()), printable(other))};
  }
  self->header_ = Descriptor(
      ::openat(self->root_.get(), kCacheHeader, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (self->header_.get() < 0) return self->failure("write", errno);
  SLUICE_CHECK(self->claim(wait));
  return self;
}

Status CacheFolder::claim(milliseconds wait) {
  const Lock lock(*this, wait);
  const bool blank = is_zeros(header_text(header_.get()));
  if (!blank) SLUICE_CHECK(read_header());
  if (!lock) {  // its holder may be stopped; entries can be read all the same
    if (blank)
      return Error{Errc::timeout, fmt::format("cache folder {}: another process has locked it",
                                              printable(path_.string()))};
    log::warn("cache folder {}: another process has locked it; it was not swept",
              printable(path_.string()));
    return ok;
  }
  if (blank) SLUICE_CHECK(write_header(0));
  for (const char* name : {kCacheObjects, kCacheTemporaries}) {
    if (::mkdirat(root_.get(), name, 0777) != 0 && errno != EEXIST) return failure("fill", errno);
  }
  return make_room(0);
}

Status CacheFolder::read_header() {
  const std::string text = header_text(header_.get());
  std::uint64_t version = 0;
  if (text.rfind(kFirstLine, 0) != 0 || !field(text, kFirstLine, version)) {
    return Error{Errc::invalid_input,
                 fmt::format("cache folder {}: its file {} is not of a cache; give another folder",
                             printable(path_.string()), kCacheHeader)};
  }
  if (version != kFolderVersion) {
    return Error{Errc::invalid_input,
                 fmt::format("cache folder {}: is of version {}, this program reads version {}; "
                             "delete it or give another folder",
                             printable(path_.string()), version, kFolderVersion)};
  }
  return ok;
}

Status CacheFolder::write_header(std::uint64_t bytes) {
  std::string text = fmt::format("{}{}\nbytes {:020}\n", kFirstLine, kFolderVersion, bytes);
  text.resize(kHeaderBytes, '\n');
  const int number = write_at(header_.get(), 0, std::as_bytes(std::span(text)));
  if (number != 0) return failure("write", number);
  return ok;
}

std::uint64_t CacheFolder::bytes() const {
  std::uint64_t bytes = 0;
  const std::string text = header_text(header_.get());
  return field(text, "\nbytes ", bytes) ? bytes : 0;
}

/// Counts what is really there, and removes the least recently used until `needed` more bytes fit.
/// The lock is held.
Status CacheFolder::make_room(std::uint64_t needed) {
  std::uint64_t in_flight = 0;
  std::vector<FoundEntry> entries;
  if (const int number = sweep_temporaries(root_.get(), in_flight); number != 0)
    return failure("list", number);
  if (const int number = scan_entries(root_.get(), entries); number != 0)
    return failure("list", number);
  std::uint64_t total = in_flight;
  for (const FoundEntry& entry : entries)
    total += entry.bytes;
  if (total + needed > max_bytes_) {
    const std::uint64_t goal = std::min(filled_after_eviction(max_bytes_), max_bytes_ - needed);
    std::sort(entries.begin(), entries.end(), [](const FoundEntry& a, const FoundEntry& b) {
      return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.path < b.path;
    });
    for (const FoundEntry& entry : entries) {
      if (total <= goal) break;
      const std::string name = fmt::format("{}/{}", kCacheObjects, entry.path.data());
      if (::unlinkat(root_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
        return failure("evict", errno);
      total -= entry.bytes;
      ++evictions_;
      evicted_bytes_ += entry.bytes;
    }
  }
  SLUICE_CHECK(write_header(total));
  if (total + needed > max_bytes_) {
    return Error{Errc::io, fmt::format("cache folder {}: full with entries being written",
                                       printable(path_.string()))};
  }
  return ok;
}

Descriptor CacheFolder::open_entry(const EntryId& id) const {
  const std::string name = fmt::format("{}/{}", kCacheObjects, id.path());
  return Descriptor(::openat(root_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

/// A temporary file of its full size, which is counted from now on.
Result<CacheFolder::Temporary> CacheFolder::reserve(std::uint64_t payload_bytes) {
  Temporary made;
  made.bytes = disk_bytes(payload_bytes);
  made.name = fmt::format("{}/{}-{}-{:x}", kCacheTemporaries, ::getpid(), ++names_,
                          steady_clock::now().time_since_epoch().count());
  const Lock lock(*this, kLockToFill);
  if (!lock) {
    return Error{Errc::timeout, fmt::format("cache folder {}: another process has locked it",
                                            printable(path_.string()))};
  }
  if (bytes() + made.bytes > max_bytes_) SLUICE_CHECK(make_room(made.bytes));
  made.file = Descriptor(::openat(root_.get(), made.name.c_str(),
                                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (made.file.get() < 0) return failure("fill", errno);
  int number = ::flock(made.file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (number == 0 &&
      ::ftruncate(made.file.get(), static_cast<off_t>(payload_bytes + kTrailerBytes)) != 0)
    number = errno;
  Status counted = number == 0 ? write_header(bytes() + made.bytes) : failure("fill", number);
  if (!counted) {
    ::unlinkat(root_.get(), made.name.c_str(), 0);
    return std::move(counted).error();
  }
  return made;
}

void CacheFolder::give_up(const Temporary& temporary) {
  ::unlinkat(root_.get(), temporary.name.c_str(), 0);
  const Lock lock(*this, kLockToFill);
  if (!lock) return;  // counted too high until somebody counts again
  const std::uint64_t now = bytes();
  (void)write_header(now - std::min(now, temporary.bytes));
}

Result<std::uint64_t> CacheFolder::fill(const EntryId& id, std::span<const std::byte> payload) {
  SLUICE_TRY(const Temporary temporary, reserve(payload.size()));
  const int fd = temporary.file.get();
  const Trailer trailer = make_trailer(id, payload.size(), checksum(payload));
  int number = write_at(fd, 0, payload);
  if (number == 0) number = write_at(fd, payload.size(), trailer);
  struct stat info {};
  if (number == 0 && ::fstat(fd, &info) != 0) number = errno;
  if (number == 0) {
    touch(fd);
    const std::string name = fmt::format("{}/{}", kCacheObjects, id.path());
    const auto rename = [&] {
      return ::renameat(root_.get(), temporary.name.c_str(), root_.get(), name.c_str()) == 0
                 ? 0
                 : errno;
    };
    number = rename();
    if (number == ENOENT) {
      ::mkdirat(root_.get(), name.substr(0, name.rfind('/')).c_str(), 0777);
      number = rename();
    }
  }
  if (number != 0) {
    give_up(temporary);
    return failure("fill", number);
  }
  return static_cast<std::uint64_t>(info.st_ino);
}

void CacheFolder::remove(const EntryId& id) {
  const Lock lock(*this, kLockToFill);
  const std::string name = fmt::format("{}/{}", kCacheObjects, id.path());
  struct stat info {};
  const bool there = ::fstatat(root_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (::unlinkat(root_.get(), name.c_str(), 0) != 0 || !there || !lock) return;
  const std::uint64_t now = bytes();
  const std::uint64_t freed = (static_cast<std::uint64_t>(info.st_size) + 4095) / 4096 * 4096;
  (void)write_header(now - std::min(now, freed));
}

void touch(int fd) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);  // UTIME_NOW counts in steps of the timer, 4 ms
  const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, now};
  ::futimens(fd, times.data());
}

}  // namespace sluice::storage
