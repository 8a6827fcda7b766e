// sluice/storage/format/archive.cpp - tar archives: files and memory as input of
// libsluice_archive.so.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/archive.h"

#include "sluice/core/module.h"
#include "sluice/core/text.h"
#include "sluice/storage/format/archive_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::storage {
namespace {

constexpr std::size_t kReadBlock = std::size_t{256} << 10;  // unpacked between two looks at `stop`

Result<const SluiceArchiveTable*> load_archive_table() {
  SLUICE_TRY(void* symbol, load_module("archive", kSluiceArchiveSymbol));
  const auto* table = reinterpret_cast<SluiceArchiveTableFunction*>(symbol)();
  if (table == nullptr || table->abi != kSluiceArchiveAbi)
    return Error{Errc::unsupported,
                 fmt::format("libsluice_archive.so has interface {}, this program needs {}",
                             table == nullptr ? 0 : table->abi, kSluiceArchiveAbi)};
  return table;
}

/// Loaded once; a failure is remembered as well.
Result<const SluiceArchiveTable*> table() {
  static const Result<const SluiceArchiveTable*> loaded = load_archive_table();
  return loaded;
}

EntryType to_type(std::int32_t type) {
  switch (type) {
    case kSluiceArchiveFile:
      return EntryType::file;
    case kSluiceArchiveFolder:
      return EntryType::folder;
    case kSluiceArchiveSymbolicLink:
      return EntryType::symbolic_link;
    case kSluiceArchiveHardLink:
      return EntryType::hard_link;
    default:
      return EntryType::other;
  }
}

}  // namespace

struct ArchiveReader::State {
  const SluiceArchiveTable* table = nullptr;
  SluiceArchive* handle = nullptr;
  Stop stop;
  int file = -1;                        // or
  std::span<const std::uint8_t> bytes;  // in memory
  std::size_t at = 0;                   // of bytes
  std::uint64_t size = 0;
  std::uint64_t taken = 0;
  std::vector<std::uint8_t> block;
  bool stopped = false;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (handle != nullptr) table->close(handle);
    if (file >= 0) ::close(file);
  }

  static std::ptrdiff_t read(void* self, const void** out) {
    auto& state = *static_cast<State*>(self);
    if (state.file < 0) {
      const auto part = state.bytes.subspan(state.at);
      *out = part.data();
      state.at = state.bytes.size();
      state.taken += part.size();
      return static_cast<std::ptrdiff_t>(part.size());
    }
    ssize_t n = -1;
    do {
      state.stopped = state.stop && state.stop();
      if (state.stopped) return -1;
      n = ::read(state.file, state.block.data(), state.block.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) return -1;
    *out = state.block.data();
    state.taken += static_cast<std::uint64_t>(n);
    return n;
  }

  /// Passing over a file of a plain tar costs nothing.
  static std::int64_t skip(void* self, std::int64_t request) {
    auto& state = *static_cast<State*>(self);
    if (state.file < 0 || request <= 0) return 0;
    const auto left = static_cast<std::int64_t>(state.size - std::min(state.size, state.taken));
    const std::int64_t step = std::min(request, left);
    if (step <= 0 || ::lseek(state.file, step, SEEK_CUR) < 0) return 0;
    state.taken += static_cast<std::uint64_t>(step);
    return step;
  }

  [[nodiscard]] Error failure(std::string_view what, const SluiceArchiveError& error) const {
    if (stopped) return {Errc::interrupted, "stopped"};
    if (error.code == kSluiceArchiveUnsupported)
      return {Errc::unsupported,
              fmt::format("libarchive was built without {}", printable(error.text))};
    if (error.code == kSluiceArchiveNoMemory) return {Errc::io, "out of memory"};
    return {Errc::invalid_input, fmt::format("{}: {}", what, printable(error.text))};
  }

  Status start() {
    SLUICE_TRY(table, storage::table());
    const SluiceArchiveInput input{this, read, skip};
    SluiceArchiveError error{};
    if (table->open(&handle, &input, &error) != kSluiceArchiveOk)
      return failure("not a tar archive, plain or with gzip, bzip2, xz or zstd", error);
    return ok;
  }
};

ArchiveReader::ArchiveReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;

Result<ArchiveReader> ArchiveReader::open(const std::filesystem::path& path, Stop stop) {
  auto state = std::make_unique<State>();
  state->stop = std::move(stop);
  state->block.resize(kReadBlock);
  state->file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not hang us
  struct stat info {};
  if (state->file < 0 || ::fstat(state->file, &info) != 0)
    return Error{errno == ENOENT ? Errc::not_found : Errc::io,
                 fmt::format("cannot be opened: {}", std::generic_category().message(errno))};
  if (!S_ISREG(info.st_mode)) return Error{Errc::invalid_input, "not a regular file"};
  state->size = static_cast<std::uint64_t>(info.st_size);
  SLUICE_CHECK(state->start());
  return ArchiveReader(std::move(state));
}

Result<ArchiveReader> ArchiveReader::open(std::span<const std::uint8_t> bytes) {
  auto state = std::make_unique<State>();
  state->bytes = bytes;
  state->size = bytes.size();
  SLUICE_CHECK(state->start());
  return ArchiveReader(std::move(state));
}

Result<bool> ArchiveReader::next(ArchiveEntry& out) {
  SluiceArchiveEntry entry{};
  SluiceArchiveError error{};
  const std::int32_t got = state_->table->next(state_->handle, &entry, &error);
  if (got < 0) return state_->failure("the archive is damaged, or not a tar", error);
  if (got == 0) return false;
  out.name = entry.name;
  out.target = entry.target;
  out.type = to_type(entry.type);
  if (entry.size < 0)
    return Error{Errc::invalid_input,
                 fmt::format("entry '{}' has size {}", printable(out.name), entry.size)};
  out.size = out.type == EntryType::file ? static_cast<std::uint64_t>(entry.size) : 0;
  return true;
}

Result<std::size_t> ArchiveReader::read(std::span<std::byte> out) {
  SluiceArchiveError error{};
  const std::ptrdiff_t n = state_->table->read(state_->handle, out.data(), out.size(), &error);
  if (n < 0) return state_->failure("the archive is damaged", error);
  return static_cast<std::size_t>(n);
}

std::uint64_t ArchiveReader::size() const {
  return state_->size;
}
std::uint64_t ArchiveReader::bytes_taken() const {
  return state_->taken;
}

}  // namespace sluice::storage
