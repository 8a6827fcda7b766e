// sluice/storage/source.cpp - archives and folders as sources of staged files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/source.h"

#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/storage/bucket_source.h"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;

Error named(const fs::path& path, const Error& error) {
  return {error.code, fmt::format("{}: {}", printable(path.string()), error.message)};
}

Error stopped(const fs::path& path) {
  return {Errc::interrupted, fmt::format("{}: stopped", printable(path.string()))};
}

/// A file that is read block by block.
class File {
 public:
  explicit File(const fs::path& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Result<std::size_t> read(std::span<std::byte> out) const {
    ssize_t n = -1;
    do {
      n = fd_ < 0 ? -1 : ::read(fd_, out.data(), out.size());
    } while (n < 0 && fd_ >= 0 && errno == EINTR);
    if (n < 0)
      return Error{Errc::io, fmt::format("{}: cannot be read: {}", printable(path_.string()),
                                         std::generic_category().message(errno))};
    return static_cast<std::size_t>(n);
  }

 private:
  fs::path path_;
  int fd_;
};

class ArchiveSource final : public Source {
 public:
  ArchiveSource(const StageOptions& options, std::uint64_t size) : options_(options), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  Result<StagePlan> list(Progress& progress) override {
    Planner planner(options_.filter, options_.limits, size_);
    Progress::Bar bar = progress.bar("list the archive", size_, "bytes");
    const Status status =
        each([&](const ArchiveEntry& entry, ArchiveReader& reader) -> Result<bool> {
          bar.set(reader.bytes_taken());
          SLUICE_CHECK(planner.add(entry));
          return true;
        });
    if (!status) return named(options_.from, status.error());
    auto plan = planner.finish();
    if (!plan) return named(options_.from, plan.error());
    return plan;
  }

  Status unpack(const StagePlan& plan, std::uint64_t count,
                const std::function<bool(const StageFile&)>& wanted,
                const std::function<Status(const StageFile&, const ReadBlock&)>& put) override {
    const Status status =
        each([&](const ArchiveEntry& entry, ArchiveReader& reader) -> Result<bool> {
          if (entry.type != EntryType::file) return true;
          SLUICE_TRY(const std::string name, safe_name(entry.name));
          const StageFile* file = plan.find(name);
          if (file == nullptr || !wanted(*file)) return true;
          if (file->size != entry.size)
            return Error{Errc::invalid_input, "the archive changed while it was read"};
          SLUICE_CHECK(put(*file, [&](std::span<std::byte> out) { return reader.read(out); }));
          return --count > 0;
        });
    if (!status) return named(options_.from, status.error());
    return ok;
  }

 private:
  /// Until `visit` says false.
  template <class Visit>
  Status each(Visit&& visit) {
    SLUICE_TRY(ArchiveReader reader, ArchiveReader::open(options_.from, options_.stop));
    ArchiveEntry entry;
    for (;;) {
      if (options_.stop && options_.stop()) return Error{Errc::interrupted, "stopped"};
      SLUICE_TRY(const bool more, reader.next(entry));
      if (!more) return ok;
      SLUICE_TRY(const bool go_on, visit(entry, reader));
      if (!go_on) return ok;
    }
  }

  const StageOptions& options_;
  std::uint64_t size_;
};

class FolderSource final : public Source {
 public:
  explicit FolderSource(const StageOptions& options) : options_(options) {}

  [[nodiscard]] std::uint64_t size() const override { return 0; }

  /// Links and devices of one's own folder are no attack: they are left out like links in archives.
  Result<StagePlan> list(Progress& progress) override {
    Planner planner(options_.filter, options_.limits, 0);
    Progress::Bar bar = progress.bar("list the folder", 0, "files");
    std::error_code code;
    fs::recursive_directory_iterator walk(options_.from, code);
    for (const fs::recursive_directory_iterator end; !code && walk != end; walk.increment(code)) {
      if (options_.stop && options_.stop()) return stopped(options_.from);
      struct stat info {};
      if (::lstat(walk->path().c_str(), &info) != 0 || S_ISDIR(info.st_mode)) continue;
      ArchiveEntry entry;
      entry.name = walk->path().lexically_relative(options_.from).generic_string();
      entry.type = S_ISREG(info.st_mode) ? EntryType::file : EntryType::symbolic_link;
      entry.size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
      if (const Status status = planner.add(entry); !status)
        return named(options_.from, status.error());
      bar.add();
    }
    if (code)
      return Error{Errc::io, fmt::format("{}: cannot be listed: {}",
                                         printable(options_.from.string()), code.message())};
    auto plan = planner.finish();
    if (!plan) return named(options_.from, plan.error());
    return plan;
  }

  Status unpack(const StagePlan& plan, std::uint64_t count,
                const std::function<bool(const StageFile&)>& wanted,
                const std::function<Status(const StageFile&, const ReadBlock&)>& put) override {
    for (const StageFile& file : plan.files) {
      if (count == 0) break;
      if (!wanted(file)) continue;
      --count;
      const File from(options_.from / file.name);
      SLUICE_CHECK(put(file, [&](std::span<std::byte> out) -> Result<std::size_t> {
        if (options_.stop && options_.stop()) return stopped(options_.from);
        return from.read(out);
      }));
    }
    return ok;
  }

 private:
  const StageOptions& options_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_source(const StageOptions& options) {
  if (is_bucket(options.from)) return open_bucket_source(options);
  struct stat info {};
  if (::stat(options.from.c_str(), &info) != 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    return Error{absent ? Errc::not_found : Errc::io,
                 fmt::format("{}: cannot be opened: {}", printable(options.from.string()),
                             std::generic_category().message(errno))};
  }
  if (S_ISDIR(info.st_mode))
    return std::unique_ptr<Source>(std::make_unique<FolderSource>(options));
  if (!S_ISREG(info.st_mode))
    return Error{Errc::invalid_input,
                 fmt::format("{}: neither a file nor a folder", printable(options.from.string()))};
  return std::unique_ptr<Source>(
      std::make_unique<ArchiveSource>(options, static_cast<std::uint64_t>(info.st_size)));
}

Result<std::string> checksum(const StageOptions& options, Progress& progress) {
  std::error_code code;
  Progress::Bar bar = progress.bar("check the archive", fs::file_size(options.from, code), "bytes");
  const File file(fs::canonical(options.from, code));
  std::vector<std::byte> block(std::size_t{1} << 20);
  Sha256 sha;
  for (;;) {
    if (options.stop && options.stop()) return stopped(options.from);
    SLUICE_TRY(const std::size_t n, file.read(block));
    if (n == 0) return sha.hex();
    sha.update(std::span<const std::byte>(block).first(n));
    bar.add(n);
  }
}

}  // namespace sluice::storage
