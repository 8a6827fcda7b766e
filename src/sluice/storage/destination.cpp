// sluice/storage/destination.cpp - the folder that is staged into, over POSIX calls.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/destination.h"

#include "sluice/core/descriptor.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/storage/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJournal = ".sluice-staging.json";
constexpr const char* kLock = ".sluice-stage.lock";
constexpr const char* kPart = ".sluice-stage.part";
constexpr double kLongestStageS = 24 * 3600;  // of another process, which is waited for
constexpr std::size_t kWriteBlock = std::size_t{1} << 20;

Result<std::optional<Json>> read_json(const fs::path& path) {
  auto text = read_text_file(path, 1 << 20);
  if (!text && text.error().code == Errc::not_found) return std::optional<Json>();
  if (!text) return text.error();
  auto json = parse_json(*text, printable(path.string()));
  if (!json) return json.error();
  if (!json->is_object())
    return Error{Errc::invalid_input, fmt::format("{}: not an object", printable(path.string()))};
  return std::optional<Json>(std::move(*json));
}

int write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

Error Destination::failure(const std::string& name, std::string_view action, int number) const {
  return {Errc::io, fmt::format("{}: cannot {}: {}", printable((folder_ / name).string()), action,
                                why(number))};
}

Result<Destination> Destination::open(const fs::path& folder, const std::function<bool()>& stop,
                                      const LockWaiting& waiting) {
  SLUICE_CHECK(create_folders(folder));
  const LockWait wait{.limit_s = kLongestStageS, .stop = stop, .waiting = waiting};
  SLUICE_TRY(FileLock lock, FileLock::take(folder / kLock, shown(folder), wait, LockFile::kept));
  Destination self(std::move(lock));
  self.folder_ = folder;
  self.root_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (self.root_ < 0) return self.failure("", "open", errno);
  ::unlinkat(self.root_, kPart, 0);  // of a process that was killed
  return self;
}

Destination::Destination(Destination&& other) noexcept
    : folder_(std::move(other.folder_)),
      root_(std::exchange(other.root_, -1)),
      lock_(std::move(other.lock_)),
      parent_(std::move(other.parent_)),
      parent_fd_(std::exchange(other.parent_fd_, -1)) {}

Destination::~Destination() {
  for (const int fd : {parent_fd_, root_})
    if (fd >= 0) ::close(fd);
}

Result<std::optional<Json>> Destination::read_sentinel() const {
  return read_json(folder_ / kSentinel);
}
Result<std::optional<Json>> Destination::read_journal() const {
  return read_json(folder_ / kJournal);
}

Status Destination::write_journal(const Json& json) const {
  return write_file_atomic(folder_ / kJournal, dump_json(json) + "\n");
}

Status Destination::seal(const Json& json) const {
  if (::syncfs(root_) != 0) return failure("", "flush to disk", errno);
  SLUICE_CHECK(write_file_atomic(folder_ / kSentinel, dump_json(json) + "\n"));
  ::unlinkat(root_, kJournal, 0);
  return ok;
}

Result<std::vector<StageFile>> Destination::list() const {
  std::vector<StageFile> files;
  std::error_code code;
  fs::recursive_directory_iterator walk(folder_, code);
  for (const fs::recursive_directory_iterator end; !code && walk != end; walk.increment(code)) {
    const fs::path& path = walk->path();
    if (path.filename().string().rfind('.', 0) == 0) {
      walk.disable_recursion_pending();
      continue;
    }
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0)
      return failure(path.lexically_relative(folder_), "look at it", errno);
    if (S_ISDIR(info.st_mode)) continue;
    if (!S_ISREG(info.st_mode))
      return Error{Errc::invalid_input,
                   fmt::format("{}: neither a file nor a folder; remove it, or name another folder",
                               printable(path.string()))};
    files.push_back({path.lexically_relative(folder_).generic_string(),
                     static_cast<std::uint64_t>(info.st_size)});
  }
  if (code) return failure("", "list", code.value());
  std::sort(files.begin(), files.end(),
            [](const StageFile& a, const StageFile& b) { return name_less(a.name, b.name); });
  return files;
}

bool Destination::has(const StageFile& file) const {
  struct stat info {};
  return ::fstatat(root_, file.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) == file.size;
}

/// Opens (makes) the folder part by part, so that a link planted in the way is not followed.
Status Destination::open_parent(const std::string& parent) {
  if (parent_fd_ >= 0 && parent == parent_) return ok;
  int fd = ::dup(root_);
  for (std::size_t at = 0; fd >= 0 && at < parent.size();) {
    const std::size_t end = std::min(parent.find('/', at), parent.size());
    const std::string part = parent.substr(at, end - at);
    at = end + 1;
    if (::mkdirat(fd, part.c_str(), 0777) != 0 && errno != EEXIST) {
      const int number = errno;
      ::close(fd);
      return failure(parent, "create this folder", number);
    }
    const int next = ::openat(fd, part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int number = errno;
    ::close(fd);
    errno = number;
    fd = next;
  }
  if (fd < 0) return failure(parent, "open this folder", errno);
  if (parent_fd_ >= 0) ::close(parent_fd_);
  parent_fd_ = fd;
  parent_ = parent;
  return ok;
}

Status Destination::write_part(const StageFile& file, const ReadBlock& read) const {
  Descriptor part(
      ::openat(root_, kPart, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (part.get() < 0) return failure(kPart, "create", errno);
  std::vector<std::byte> block(std::min<std::size_t>(kWriteBlock, file.size + 1));
  std::uint64_t written = 0;
  for (;;) {
    SLUICE_TRY(const std::size_t n, read(block));
    if (n == 0) break;
    written += n;
    if (written > file.size) break;
    if (const int number = write_all(part.get(), std::span(block).first(n)); number != 0)
      return failure(file.name, "write", number);
  }
  if (written != file.size)
    return Error{
        Errc::invalid_input,
        fmt::format("entry '{}' has {} {} than the {} bytes it declares", printable(file.name),
                    written > file.size ? "more" : "fewer", "bytes", file.size)};
  if (const int number = part.close(); number != 0) return failure(file.name, "write", number);
  return ok;
}

Status Destination::put(const StageFile& file, const ReadBlock& read) {
  const std::size_t slash = file.name.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : file.name.substr(0, slash);
  const std::string leaf = slash == std::string::npos ? file.name : file.name.substr(slash + 1);
  SLUICE_CHECK(open_parent(parent));
  if (Status status = write_part(file, read); !status) {
    ::unlinkat(root_, kPart, 0);
    return status;
  }
  if (::renameat(root_, kPart, parent_fd_, leaf.c_str()) != 0) {
    const int number = errno;
    ::unlinkat(root_, kPart, 0);
    return failure(file.name, "write", number);
  }
  return ok;
}

std::uint64_t Destination::free_bytes() const {
  struct statvfs info {};
  if (::fstatvfs(root_, &info) != 0) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace sluice::storage
