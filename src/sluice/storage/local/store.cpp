// sluice/storage/local/store.cpp - a folder, or one file, of this machine as an ObjectStore.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/local/store.h"

#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/storage/local/guarded_copy.h"
#include "sluice/storage/local/list.h"
#include "sluice/storage/local/mapped_sum.h"
#include "sluice/storage/local/open_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMapAtLeast = std::size_t{1}
                                    << 20;               // smaller files that are read whole: pread
constexpr std::size_t kReadStep = std::size_t{8} << 20;  // between two looks at cancel()

constexpr std::size_t kDirectRequest = std::size_t{4} << 20;

/// A key may not lead out of the folder: no absolute paths, no "..".
bool is_key(std::string_view key) {
  if (key.empty() || key.find('\0') != key.npos) return false;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view part = key.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

class LocalStore final : public ObjectStore {
 public:
  /// `root` is a folder, open with O_PATH; `only`: the one file of it that is the store.
  LocalStore(const LocalOptions& options, int root, std::string only)
      : name_(options.path.string()),
        mode_(options.read_mode),
        root_(root),
        only_(std::move(only)),
        files_(static_cast<std::size_t>(std::max(options.keep_open, 1))) {}

  [[nodiscard]] std::string name() const override { return name_; }

  Status list(std::string_view prefix, const Page& page) override {
    return list_with({.prefix = prefix, .sizes = true}, page);
  }
  Status list_names(std::string_view prefix, const Page& page) override {
    return list_with({.prefix = prefix, .sizes = false}, page);
  }

  Result<Object> stat(std::string_view key) override {
    SLUICE_TRY(const std::string path, checked(key));
    struct stat status {};
    if (::fstatat(root_.fd(), path.c_str(), &status, 0) != 0) return failed(key, errno);
    if (!S_ISREG(status.st_mode))
      return Error{Errc::not_found, fmt::format("{}: not a file", called(key))};
    return Object{.key = path, .size = static_cast<std::uint64_t>(status.st_size)};
  }

  Result<std::span<const std::byte>> read(const Object& object, std::uint64_t offset,
                                          std::size_t size, ReadBuffer& buffer) override {
    if (cancelled_) return stopped();
    if (offset > INT64_MAX || size > INT64_MAX - offset) return too_short(object.key, 0, size);
    try {
      auto bytes = mode_ == ReadMode::direct ? read_direct(object, offset, size, buffer)
                                             : read_cached(object, offset, size, buffer);
      if (bytes) {
        reads_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(size, std::memory_order_relaxed);
      }
      return bytes;
    } catch (const std::bad_alloc&) {
      return Error{Errc::io, fmt::format("{}: no memory for {} bytes", called(object.key), size)};
    }
  }

  Result<std::uint32_t> sum(const Object& object, std::uint64_t offset, std::uint64_t size,
                            std::span<const Excerpt> parts, ReadBuffer& buffer) override {
    if (mode_ != ReadMode::direct)
      if (const auto file = file_of(object, true, 0))
        if (const auto summed = mapped_sum((*file)->fd(), offset, size, parts, cancelled_)) {
          reads_.fetch_add(1, std::memory_order_relaxed);
          bytes_.fetch_add(size, std::memory_order_relaxed);
          mapped_bytes_.fetch_add(size, std::memory_order_relaxed);
          return *summed;
        }
    return ObjectStore::sum(object, offset, size, parts, buffer);  // or its error
  }

  [[nodiscard]] std::size_t request_bytes() const override {
    return mode_ == ReadMode::direct ? kDirectRequest : 0;
  }

  void will_read(const Object& object, std::uint64_t offset, std::size_t size) override {
    if (mode_ == ReadMode::direct || cancelled_) return;
    const auto file = file_of(object, true, 0);
    // The system takes no more than its read-ahead window of one call.
    constexpr std::size_t step = std::size_t{128} << 10;
    for (std::size_t done = 0; file && done < size; done += step)
      ::posix_fadvise((*file)->fd(), static_cast<off_t>(offset + done),
                      static_cast<off_t>(std::min(step, size - done)), POSIX_FADV_WILLNEED);
  }

  void cancel() override { cancelled_ = true; }

  [[nodiscard]] Json counters() const override {
    return {{"read_mode", to_string(mode_)},
            {"reads", reads_.load()},
            {"bytes", bytes_.load()},
            {"opens", opens_.load()},
            {"mapped_bytes", mapped_bytes_.load()}};
  }

 private:
  Status list_with(const ListOptions& options, const Page& page) {
    const std::string_view prefix = options.prefix;
    if (!only_.empty()) {
      if (only_.substr(0, prefix.size()) != prefix) return ok;
      SLUICE_TRY(const Object object, stat(only_));
      return page({&object, 1});
    }
    const std::string_view folder = prefix.substr(0, std::min(prefix.rfind('/'), prefix.size()));
    if (!folder.empty() && !is_key(folder)) return no_key(prefix);
    return list_folder(root_.fd(), name_, options, page,
                       [this] { return cancelled_ || stop_requested(); });
  }

  [[nodiscard]] std::string called(std::string_view key) const {
    return only_.empty() ? fmt::format("{}/{}", printable(name_), printable(key))
                         : printable(name_);
  }
  [[nodiscard]] Error stopped() const {
    return {Errc::interrupted, fmt::format("{}: stopped", printable(name_))};
  }
  [[nodiscard]] Error no_key(std::string_view key) const {
    return {Errc::not_found,
            fmt::format("{}: no key '{}'; names with '/' between them are accepted",
                        printable(name_), printable(key))};
  }
  [[nodiscard]] Error failed(std::string_view key, int error) const {
    const bool missing = error == ENOENT || error == ENOTDIR;
    return {
        missing ? Errc::not_found : Errc::io,
        fmt::format("{}: cannot be read: {}", called(key), std::generic_category().message(error))};
  }
  [[nodiscard]] Error too_short(std::string_view key, std::size_t got, std::size_t size) const {
    return {Errc::invalid_input,
            fmt::format("{}: {} of {} bytes are there: the file shrank since it was listed",
                        called(key), got, size)};
  }

  Result<std::string> checked(std::string_view key) const {
    if (!is_key(key) || (!only_.empty() && key != only_)) return no_key(key);
    return std::string(key);
  }

  Result<std::shared_ptr<OpenFile>> open(std::string_view key, int flags) {
    SLUICE_TRY(const std::string path, checked(key));
    opens_.fetch_add(1, std::memory_order_relaxed);
    // O_NONBLOCK: a pipe of that name must not hold the reader up.
    const int fd = ::openat(root_.fd(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (fd < 0) {
      if (errno == EINVAL && flags != 0) return no_direct(key);
      return failed(key, errno);
    }
    return std::make_shared<OpenFile>(fd);
  }
  [[nodiscard]] Error no_direct(std::string_view key) const {
    return {Errc::unsupported,
            fmt::format("{}: its file system cannot read past the page cache; read modes buffered "
                        "and mmap are accepted there",
                        called(key))};
  }

  /// Kept when only a part is read, mapped as well when the mode says so.
  Result<std::shared_ptr<const OpenFile>> file_of(const Object& object, bool part, int flags) {
    if (part)
      if (auto kept = files_.find(object.key)) return kept;
    SLUICE_TRY(std::shared_ptr<OpenFile> file, open(object.key, flags));
    if (mode_ == ReadMode::mmap && (part || object.size >= kMapAtLeast)) {
      struct stat status {};
      if (::fstat(file->fd(), &status) != 0) return failed(object.key, errno);
      const int error = file->map_whole(static_cast<std::size_t>(status.st_size));
      if (error != 0) return failed(object.key, error);
    }
    if (part) files_.keep(object.key, file);
    return std::shared_ptr<const OpenFile>(std::move(file));
  }

  Result<std::span<const std::byte>> read_cached(const Object& object, std::uint64_t offset,
                                                 std::size_t size, ReadBuffer& buffer) {
    const bool part = offset != 0 || size < object.size;
    SLUICE_TRY(const auto file, file_of(object, part, 0));
    const std::span<std::byte> out = buffer.take(size);
    if (file->map() == nullptr) {
      SLUICE_TRY(const std::size_t got, fill(object.key, file->fd(), out, offset));
      if (got == size) return std::span<const std::byte>(out);
      files_.drop(object.key);
      return too_short(object.key, got, size);
    }
    SLUICE_CHECK(copy_out(object.key, *file, out, offset));
    mapped_bytes_.fetch_add(size, std::memory_order_relaxed);
    return std::span<const std::byte>(out);
  }

  Status copy_out(const std::string& key, const OpenFile& file, std::span<std::byte> out,
                  std::uint64_t offset) {
    bool whole = offset <= file.map_size() && out.size() <= file.map_size() - offset;
    for (std::size_t done = 0; whole && done < out.size(); done += kReadStep) {
      if (cancelled_) return stopped();
      whole = guarded_copy(out.data() + done, file.map() + offset + done,
                           std::min(kReadStep, out.size() - done));
    }
    struct stat status {};
    if (::fstat(file.fd(), &status) != 0) return failed(key, errno);
    const auto there = static_cast<std::uint64_t>(status.st_size);
    if (whole && there >= offset + out.size()) return ok;
    files_.drop(key);  // if it grew again, the next read maps all of it
    if (there >= offset + out.size())
      return Error{Errc::io, fmt::format("{}: cannot be read through a map", called(key))};
    return too_short(key, there > offset ? static_cast<std::size_t>(there - offset) : 0,
                     out.size());
  }

  /// Whole blocks around what is asked for; the last one of a file may be short.
  Result<std::span<const std::byte>> read_direct(const Object& object, std::uint64_t offset,
                                                 std::size_t size, ReadBuffer& buffer) {
    constexpr std::uint64_t block = ReadBuffer::kAlignment;
    const bool part = offset != 0 || size < object.size;
    SLUICE_TRY(const auto file, file_of(object, part, O_DIRECT));
    const std::uint64_t begin = offset / block * block;
    const std::size_t before = static_cast<std::size_t>(offset - begin);
    const std::span<std::byte> out =
        buffer.take((before + size + block - 1) / block * static_cast<std::size_t>(block));
    const auto got = fill(object.key, file->fd(), out, begin, before + size);
    if (!got) return got.error();
    if (*got >= before + size) return std::span<const std::byte>(out.subspan(before, size));
    files_.drop(object.key);
    return too_short(object.key, *got > before ? *got - before : 0, size);
  }

  /// Bytes read: those asked for, fewer only at the end of the file. `enough`: stop there, so that
  /// an unaligned end of file is not read from again.
  Result<std::size_t> fill(std::string_view key, int fd, std::span<std::byte> out,
                           std::uint64_t offset, std::size_t enough = SIZE_MAX) {
    std::size_t done = 0;
    while (done < std::min(out.size(), enough)) {
      if (cancelled_) return stopped();
      const std::size_t step = std::min(kReadStep, out.size() - done);
      const ssize_t n = ::pread(fd, out.data() + done, step, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EINVAL && mode_ == ReadMode::direct) {
        if (done % ReadBuffer::kAlignment != 0) break;  // behind the end of a file just shortened
        return no_direct(key);
      }
      if (n < 0) return failed(key, errno);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  std::string name_;
  ReadMode mode_;
  OpenFile root_;
  std::string only_;
  OpenFiles files_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<std::uint64_t> reads_ = 0, bytes_ = 0, opens_ = 0, mapped_bytes_ = 0;
};

}  // namespace

const char* to_string(ReadMode mode) {
  switch (mode) {
    case ReadMode::buffered:
      return "buffered";
    case ReadMode::mmap:
      return "mmap";
    case ReadMode::direct:
      return "direct";
  }
  return "?";
}

Result<ReadMode> parse_read_mode(std::string_view text) {
  for (const ReadMode mode : {ReadMode::buffered, ReadMode::mmap, ReadMode::direct})
    if (text == to_string(mode)) return mode;
  return Error{Errc::usage, fmt::format("read mode '{}': buffered, mmap or direct is accepted",
                                        printable(text))};
}

Result<std::unique_ptr<ObjectStore>> open_local(const LocalOptions& options) {
  const std::string name = printable(options.path.string());
  struct stat status {};
  if (::stat(options.path.c_str(), &status) != 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return Error{
        missing ? Errc::not_found : Errc::io,
        fmt::format("{}: cannot be opened: {}", name, std::generic_category().message(errno))};
  }
  fs::path folder = options.path;
  std::string only;
  if (S_ISREG(status.st_mode)) {
    only = folder.filename().string();
    folder = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  } else if (!S_ISDIR(status.st_mode)) {
    return Error{Errc::usage, fmt::format("{}: a folder or a file is accepted", name)};
  }
  const int root = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return Error{Errc::io, fmt::format("{}: cannot be opened: {}", name,
                                       std::generic_category().message(errno))};
  return std::unique_ptr<ObjectStore>(std::make_unique<LocalStore>(options, root, std::move(only)));
}

}  // namespace sluice::storage
