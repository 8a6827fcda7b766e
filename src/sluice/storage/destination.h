// sluice/storage/destination.h - the folder that is staged into: locked, listed, filled, sealed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file_lock.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/storage/plan.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::storage {

/// Fills `out` with the next bytes of a file; 0 at its end.
using ReadBlock = std::function<Result<std::size_t>(std::span<std::byte> out)>;

/// All paths are opened relative to the folder and no link in them is followed. Holds the lock
/// while alive.
class Destination {
 public:
  using LockWaiting = std::function<void(const std::string& holder)>;
  /// Makes the folder if need be, and waits while another process holds it, until `stop` says so.
  static Result<Destination> open(const std::filesystem::path& folder,
                                  const std::function<bool()>& stop, const LockWaiting& waiting);
  ~Destination();
  Destination(Destination&& other) noexcept;
  Destination& operator=(Destination&&) = delete;
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  /// The sentinel, or the journal of an attempt that was not finished; nothing when there is none.
  [[nodiscard]] Result<std::optional<Json>> read_sentinel() const;
  [[nodiscard]] Result<std::optional<Json>> read_journal() const;
  /// Written before the first file: says what the files that follow belong to.
  Status write_journal(const Json& json) const;
  /// Everything to disk, then the sentinel in place of the journal.
  Status seal(const Json& json) const;

  /// Every file that is not hidden, sorted. A link, device or pipe is an error.
  [[nodiscard]] Result<std::vector<StageFile>> list() const;
  /// True when the file is there with that size.
  [[nodiscard]] bool has(const StageFile& file) const;
  /// Writes the file whole or not at all; other than `file.size` bytes are an error.
  Status put(const StageFile& file, const ReadBlock& read);
  [[nodiscard]] std::uint64_t free_bytes() const;

 private:
  explicit Destination(FileLock lock) : lock_(std::move(lock)) {}
  Status open_parent(const std::string& parent);
  Status write_part(const StageFile& file, const ReadBlock& read) const;
  [[nodiscard]] Error failure(const std::string& name, std::string_view action, int number) const;

  std::filesystem::path folder_;
  int root_ = -1;
  FileLock lock_;
  std::string parent_;  // what parent_fd_ is open for
  int parent_fd_ = -1;
};

}  // namespace sluice::storage
