// sluice/storage/format/tar_index.h - where the members of an uncompressed tar lie, in any store.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::storage {

struct TarMember {
  std::string name;          // without "./" before it
  std::uint64_t offset = 0;  // of its bytes in the archive
  std::uint64_t size = 0;
};

/// Regular files of v7, ustar, pax and GNU archives, front to back; folders, links and devices are
/// passed over. Reads one block of the store's choice at a time and jumps over content it does not
/// hold: 4 KiB around each header locally, whole 8 MiB ranges of a bucket.
///
/// invalid_input, naming the archive and the offset: a header whose checksum or numbers are wrong,
/// content that goes on behind the end of the archive, names over 4 KiB, anything but zeros after
/// the end mark begins, sparse members, and an archive that ends without an end mark: one that was
/// cut short after a member looks the same.
class TarScan {
 public:
  /// `archive.size` must be that of the object; the store must outlive the scan.
  TarScan(ObjectStore& store, Object archive);
  ~TarScan();
  TarScan(TarScan&&) noexcept;

  /// Nothing at the end.
  Result<std::optional<TarMember>> next();
  /// Of the last member, which may have at most 64 KiB (invalid_input otherwise).
  Result<std::string> content(const TarMember& member);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::storage
