// sluice/storage/local/list.cpp - the files of a folder in the order of their keys.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/local/list.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace sluice::storage {
namespace {

constexpr std::size_t kPageObjects = 1024;
constexpr std::size_t kMaxFolderDepth = 128;
constexpr std::size_t kLookAfter = 1024;  // entries of a folder

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
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

  [[nodiscard]] std::string_view name(const Entry& entry) const {
    return std::string_view(names).substr(entry.name, entry.length);
  }
};

class Listing {
 public:
  Listing(int root, const std::string& name, std::string_view prefix, const ObjectStore::Page& page,
          const std::function<bool()>& stop)
      : root_(root), name_(name), prefix_(prefix), page_(page), stop_(stop) {
    objects_.reserve(kPageObjects);
  }

  Status run() {
    const std::size_t slash = prefix_.rfind('/');
    SLUICE_CHECK(enter(std::string(slash == prefix_.npos ? "" : prefix_.substr(0, slash + 1))));
    while (!folders_.empty()) {
      Folder& folder = folders_.back();
      if (folder.next == folder.entries.size()) {
        folders_.pop_back();
        continue;
      }
      const Folder::Entry entry = folder.entries[folder.next++];
      std::string key = folder.key;
      key += folder.name(entry);
      if (entry.folder) {
        SLUICE_CHECK(enter(std::move(key)));
      } else {
        objects_.push_back({.key = std::move(key), .size = entry.size});
        if (objects_.size() == kPageObjects) SLUICE_CHECK(flush());
      }
    }
    return objects_.empty() ? Status(ok) : flush();
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
    SLUICE_CHECK(page_(objects_));
    objects_.clear();
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
    const std::unique_ptr<DIR, CloseFolder> directory(::fdopendir(fd));
    if (!directory) {
      const int error = errno;
      ::close(fd);
      return failed(key, error);
    }
    struct stat status {};
    if (::fstat(fd, &status) != 0) return failed(key, errno);
    for (const Folder& above : folders_)
      if (above.device == status.st_dev && above.inode == status.st_ino) return ok;
    Folder folder;
    folder.key = std::move(key);
    folder.device = status.st_dev;
    folder.inode = status.st_ino;
    SLUICE_CHECK(fill(folder, directory.get()));
    folders_.push_back(std::move(folder));
    return ok;
  }

  Status fill(Folder& folder, DIR* directory) {
    // The prefix is beside the point from the folder on in which it ends.
    const std::string_view wanted =
        prefix_.size() > folder.key.size() ? prefix_.substr(folder.key.size()) : "";
    for (;;) {
      errno = 0;
      const dirent* found = ::readdir(directory);
      if (found == nullptr) {
        if (errno != 0) return failed(folder.key, errno);
        break;
      }
      if (folder.entries.size() % kLookAfter == 0 && stop_()) return stopped();
      const std::string_view name(found->d_name);
      if (name.front() == '.' || name.substr(0, wanted.size()) != wanted) continue;
      SLUICE_TRY(const auto entry, look(folder, *found, ::dirfd(directory)));
      if (!entry) continue;
      if (folder.names.size() > UINT32_MAX - 1024)
        return Error{Errc::invalid_input, fmt::format("{}/{}: too many names in one folder",
                                                      printable(name_), printable(folder.key))};
      folder.entries.push_back(*entry);
      folder.names += name;
      if (entry->folder) folder.names += '/';
    }
    std::sort(folder.entries.begin(), folder.entries.end(), [&](const auto& a, const auto& b) {
      return folder.name(a) < folder.name(b);  // compares as unsigned bytes, whatever char is
    });
    return ok;
  }

  Result<std::optional<Folder::Entry>> look(const Folder& folder, const dirent& found, int fd) {
    const std::size_t length = std::strlen(found.d_name);
    Folder::Entry entry{.size = 0,
                        .name = static_cast<std::uint32_t>(folder.names.size()),
                        .length = static_cast<std::uint16_t>(length),
                        .folder = found.d_type == DT_DIR};
    if (!entry.folder) {
      struct stat status {};
      if (::fstatat(fd, found.d_name, &status, 0) != 0) {
        if (errno == ENOENT || errno == ELOOP) return std::optional<Folder::Entry>();
        return failed(folder.key + found.d_name, errno);
      }
      entry.folder = S_ISDIR(status.st_mode);
      if (!entry.folder && !S_ISREG(status.st_mode)) return std::optional<Folder::Entry>();
      entry.size = static_cast<std::uint64_t>(status.st_size);
    }
    if (entry.folder) ++entry.length;
    return std::optional(entry);
  }

  int root_;
  const std::string& name_;
  std::string_view prefix_;
  const ObjectStore::Page& page_;
  const std::function<bool()>& stop_;
  std::vector<Folder> folders_;
  std::vector<Object> objects_;
};

}  // namespace

Status list_folder(int root, const std::string& name, std::string_view prefix,
                   const ObjectStore::Page& page, const std::function<bool()>& stop) {
  return Listing(root, name, prefix, page, stop).run();
}

}  // namespace sluice::storage
