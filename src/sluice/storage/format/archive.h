// sluice/storage/format/archive.h - tar archives, plain or compressed, read front to back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace sluice::storage {

enum class EntryType : std::uint8_t { file, folder, symbolic_link, hard_link, other };

struct ArchiveEntry {
  EntryType type = EntryType::other;
  std::string name;    // as written in the archive: not to be trusted
  std::string target;  // of a link
  std::uint64_t size = 0;
};

/// tar with gzip, bzip2, xz or zstd around it, told by its content. No other format: every further
/// one is a further way in. Errors do not name the archive; the caller knows it.
class ArchiveReader {
 public:
  /// Asked from time to time; true ends the next call with Errc::interrupted.
  using Stop = std::function<bool()>;

  static Result<ArchiveReader> open(const std::filesystem::path& path, Stop stop = {});
  /// `bytes` must outlive the reader.
  static Result<ArchiveReader> open(std::span<const std::uint8_t> bytes);
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;

  /// The next entry; false at the end. What was not read of the one before is passed over. An
  /// archive that ends without an end mark is invalid_input, and so is compressed data whose
  /// checksum or length is wrong, or that anything but zeros follows.
  Result<bool> next(ArchiveEntry& out);
  /// Content of the entry that next() gave; 0 at its end.
  Result<std::size_t> read(std::span<std::byte> out);

  [[nodiscard]] std::uint64_t size() const;         // of the archive file
  [[nodiscard]] std::uint64_t bytes_taken() const;  // of it, read so far

 private:
  struct State;
  explicit ArchiveReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sluice::storage
