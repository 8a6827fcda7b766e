// sluice/storage/local/list.cpp - the files of a folder in the order of their keys.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/local/list.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <numeric>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::storage {
namespace {

constexpr std::size_t kPageObjects = 1024;
constexpr std::size_t kMaxFolderDepth = 128;
constexpr std::size_t kLookAfter = 1024;                    // entries of a folder
constexpr std::size_t kEntryBytes = std::size_t{64} << 10;  // asked of the system at once

class OpenFolder {
 public:
  explicit OpenFolder(int fd) : fd_(fd) {}
  ~OpenFolder() { ::close(fd_); }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

/// One folder on the way down: what is in it, sorted, and how far the listing got.
struct Folder {
  struct Entry {
    std::uint64_t size;
    std::uint32_t name;  // where its name begins in `names`
    std::uint16_t length;
    bool folder;
  };
  std::string key;  // "", or ends with '/'
  dev_t device;
  ino_t inode;
  std::string names;  // a folder's ends with '/', so that plain order is the order of keys
  std::vector<Entry> entries;
  std::size_t next = 0;
  bool searched = false;  // a name was looked up in it: that is allowed

  [[nodiscard]] std::string_view name(const Entry& entry) const {
    return std::string_view(names).substr(entry.name, entry.length);
  }
};

/// The eight bytes of `name` from `from` on as a number of the same order; a name holds no zero.
std::uint64_t order_of(std::string_view name, std::size_t from) {
  std::uint64_t order = 0;
  for (std::size_t i = from; i < from + 8; ++i)
    order = order << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0U);
  return order;
}

/// An entry, and what its name says of its place.
struct Place {
  std::uint64_t order;
  std::uint32_t entry;
};

/// By `order`, byte after byte from the last; one in which all agree costs a look.
void sort_by_order(std::vector<Place>& places) {
  std::vector<Place> sorted(places.size());
  for (int shift = 0; shift < 64; shift += 8) {
    std::array<std::size_t, 257> begin{};
    for (const Place& place : places)
      ++begin[(place.order >> shift & 255) + 1];
    if (std::find(begin.begin(), begin.end(), places.size()) != begin.end()) continue;
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (const Place& place : places)
      sorted[begin[place.order >> shift & 255]++] = place;
    places.swap(sorted);
  }
}

/// By the bytes of names. Names of one folder often begin alike, and then soon differ: the eight
/// bytes behind the common beginning put nearly all in their places, and the others near them.
void sort_entries(Folder& folder) {
  if (folder.entries.empty()) return;
  const std::string_view first = folder.name(folder.entries.front());
  std::size_t common = first.size();
  for (const Folder::Entry& entry : folder.entries) {
    const std::string_view name = folder.name(entry);
    common = std::min(common, name.size());
    if (name.substr(0, common) == first.substr(0, common)) continue;
    const auto differs = std::mismatch(
        name.begin(), name.begin() + static_cast<std::ptrdiff_t>(common), first.begin());
    common = static_cast<std::size_t>(differs.first - name.begin());
  }
  std::vector<Place> places;
  places.reserve(folder.entries.size());
  for (const Folder::Entry& entry : folder.entries)
    places.push_back(
        {order_of(folder.name(entry), common), static_cast<std::uint32_t>(places.size())});
  sort_by_order(places);
  for (auto begin = places.begin(); begin != places.end();) {
    const auto end = std::find_if(begin, places.end(),
                                  [&](const Place& one) { return one.order != begin->order; });
    if (end - begin > 1)
      std::sort(begin, end, [&](const Place& a, const Place& b) {
        return folder.name(folder.entries[a.entry]) < folder.name(folder.entries[b.entry]);
      });
    begin = end;
  }
  std::vector<Folder::Entry> sorted;
  sorted.reserve(places.size());
  for (const Place& place : places)
    sorted.push_back(folder.entries[place.entry]);
  folder.entries = std::move(sorted);
}

class Listing {
 public:
  Listing(int root, const std::string& name, const ListOptions& options,
          const ObjectStore::Page& page, const std::function<bool()>& stop)
      : root_(root), name_(name), options_(options), page_(page), stop_(stop) {
    objects_.resize(kPageObjects);
    records_.resize(kEntryBytes);
  }

  Status run() {
    const std::string_view prefix = options_.prefix;
    const std::size_t slash = prefix.rfind('/');
    SLUICE_CHECK(enter(std::string(slash == prefix.npos ? "" : prefix.substr(0, slash + 1))));
    while (!folders_.empty()) {
      Folder& folder = folders_.back();
      if (folder.next == folder.entries.size()) {
        folders_.pop_back();
        continue;
      }
      const Folder::Entry entry = folder.entries[folder.next++];
      if (entry.folder) {
        SLUICE_CHECK(enter(folder.key + std::string(folder.name(entry))));
        continue;
      }
      Object& object = objects_[listed_++];  // its string is that of an earlier page
      object.key = folder.key;
      object.key += folder.name(entry);
      object.size = entry.size;
      if (listed_ == kPageObjects) SLUICE_CHECK(flush());
    }
    return listed_ == 0 ? Status(ok) : flush();
  }

 private:
  [[nodiscard]] Error failed(const std::string& key, int error) const {
    return {Errc::io, fmt::format("{}/{}: cannot be listed: {}", printable(name_), printable(key),
                                  std::generic_category().message(error))};
  }

  [[nodiscard]] Error stopped() const {
    return {Errc::interrupted, fmt::format("{}: stopped", printable(name_))};
  }

  Status flush() {
    if (stop_()) return stopped();
    SLUICE_CHECK(page_(std::span<const Object>(objects_).first(std::exchange(listed_, 0))));
    return ok;
  }

  /// Reads the folder whole; one that is not there is as good as empty.
  Status enter(std::string key) {
    if (stop_()) return stopped();
    if (folders_.size() == kMaxFolderDepth)
      return Error{Errc::invalid_input,
                   fmt::format("{}/{}: folders in folders more than {} deep", printable(name_),
                               printable(key), kMaxFolderDepth)};
    const int fd =
        ::openat(root_, key.empty() ? "." : key.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
      if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return ok;
      return failed(key, errno);
    }
    const OpenFolder open(fd);
    struct stat status {};
    if (::fstat(fd, &status) != 0) return failed(key, errno);
    for (const Folder& above : folders_)
      if (above.device == status.st_dev && above.inode == status.st_ino) return ok;
    Folder folder;
    folder.key = std::move(key);
    folder.device = status.st_dev;
    folder.inode = status.st_ino;
    SLUICE_CHECK(fill(folder, fd));
    sort_entries(folder);
    folders_.push_back(std::move(folder));
    return ok;
  }

  Status fill(Folder& folder, int fd) {
    // The prefix is beside the point from the folder on in which it ends.
    const std::string_view wanted =
        options_.prefix.size() > folder.key.size() ? options_.prefix.substr(folder.key.size()) : "";
    for (;;) {
      const ssize_t got = options_.read_entries
                              ? options_.read_entries(fd, records_)
                              : ::getdents64(fd, records_.data(), records_.size());
      if (got < 0 && errno != ENOENT) return failed(folder.key, errno);
      if (got <= 0) return ok;  // also of a folder that was removed after it was opened
      for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
        const auto* found = reinterpret_cast<const dirent64*>(records_.data() + at);
        at += found->d_reclen;
        if (folder.entries.size() % kLookAfter == 0 && stop_()) return stopped();
        const std::string_view name(found->d_name);
        if (name.front() == '.' || name.substr(0, wanted.size()) != wanted) continue;
        SLUICE_CHECK(add(folder, found->d_type, found->d_name, fd));
      }
    }
  }

  /// Unless it is to be left out.
  Status add(Folder& folder, unsigned char type, const char* name, int fd) {
    const std::size_t length = std::strlen(name);
    Folder::Entry entry{.size = kSizeUnknown,
                        .name = static_cast<std::uint32_t>(folder.names.size()),
                        .length = static_cast<std::uint16_t>(length),
                        .folder = type == DT_DIR};
    // The first file is looked at in any case: whoever may list a folder may not always enter it.
    const bool look = options_.sizes || type != DT_REG || !folder.searched;
    if (!entry.folder && look) {
      struct stat status {};
      if (::fstatat(fd, name, &status, 0) != 0) {
        if (errno == ENOENT || errno == ELOOP) return ok;
        return failed(folder.key + name, errno);
      }
      folder.searched = true;
      entry.folder = S_ISDIR(status.st_mode);
      if (!entry.folder && !S_ISREG(status.st_mode)) return ok;
      entry.size = static_cast<std::uint64_t>(status.st_size);
    }
    if (folder.names.size() > UINT32_MAX - 1024)
      return Error{Errc::invalid_input, fmt::format("{}/{}: too many names in one folder",
                                                    printable(name_), printable(folder.key))};
    folder.names.append(name, length);
    if (entry.folder) {
      folder.names += '/';
      ++entry.length;
    }
    folder.entries.push_back(entry);
    return ok;
  }

  int root_;
  const std::string& name_;
  const ListOptions& options_;
  const ObjectStore::Page& page_;
  const std::function<bool()>& stop_;
  std::vector<Folder> folders_;
  std::vector<Object> objects_;  // of the page, then strings to be used again
  std::size_t listed_ = 0;
  std::vector<std::byte> records_;
};

}  // namespace

Status list_folder(int root, const std::string& name, const ListOptions& options,
                   const ObjectStore::Page& page, const std::function<bool()>& stop) {
  return Listing(root, name, options, page, stop).run();
}

}  // namespace sluice::storage
