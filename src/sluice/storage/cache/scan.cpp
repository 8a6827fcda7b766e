// sluice/storage/cache/scan.cpp - readdir, fstatat and flock over the folder of a cache.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/cache/scan.h"

#include "sluice/core/descriptor.h"
#include "sluice/storage/cache/entry.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>

namespace sluice::storage {
namespace {

constexpr std::size_t kFolderDigits = 1;
constexpr std::size_t kNameDigits = EntryId::kNameDigits;

/// 0, or errno. `each` returns the same; a folder that is not there has no names.
int for_each_name(int parent, const char* folder,
                  const std::function<int(int, const char*)>& each) {
  const int fd = ::openat(parent, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? 0 : errno;
  DIR* stream = ::fdopendir(fd);
  if (stream == nullptr) {
    const int number = errno;
    ::close(fd);
    return number;
  }
  int number = 0;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream);
    if (entry == nullptr) {
      number = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    number = each(fd, entry->d_name);
    if (number != 0) break;
  }
  ::closedir(stream);
  return number;
}

bool is_hexadecimal(std::string_view name, std::size_t digits) {
  return name.size() == digits && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::uint64_t on_disk(const struct stat& info) {
  return (static_cast<std::uint64_t>(info.st_size) + 4095) / 4096 * 4096;
}

}  // namespace

int scan_entries(int root, std::vector<FoundEntry>& entries) {
  const Descriptor objects(
      ::openat(root, kCacheObjects, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (objects.get() < 0) return errno == ENOENT ? 0 : errno;
  return for_each_name(root, kCacheObjects, [&](int, const char* folder) {
    if (!is_hexadecimal(folder, kFolderDigits)) return 0;
    return for_each_name(objects.get(), folder, [&](int fd, const char* name) {
      if (!is_hexadecimal(name, kNameDigits)) return 0;
      struct stat info {};
      if (::fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
      if (!S_ISREG(info.st_mode)) return 0;
      FoundEntry entry;
      entry.used_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
      entry.bytes = on_disk(info);
      std::memcpy(entry.path.data(), folder, kFolderDigits);
      entry.path[kFolderDigits] = '/';
      std::memcpy(entry.path.data() + kFolderDigits + 1, name, kNameDigits);
      entries.push_back(entry);
      return 0;
    });
  });
}

int sweep_temporaries(int root, std::uint64_t& bytes) {
  bytes = 0;
  return for_each_name(root, kCacheTemporaries, [&](int fd, const char* name) {
    const Descriptor file(::openat(fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return 0;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      ::unlinkat(fd, name, 0);
    } else {
      bytes += on_disk(info);
    }
    return 0;
  });
}

std::string foreign_name(int root) {
  std::string found;
  for_each_name(root, ".", [&](int, const char* name) {
    if (found.empty() || name < found) found = name;
    return 0;
  });
  struct stat info {};
  const bool ours = ::fstatat(root, kCacheHeader, &info, AT_SYMLINK_NOFOLLOW) == 0;
  return ours ? std::string() : found;
}

}  // namespace sluice::storage
