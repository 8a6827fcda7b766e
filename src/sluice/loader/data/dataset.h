// sluice/loader/data/dataset.h - samples by index, whatever they lie in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/local/read_buffer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice::loader {

/// Immutable and thread-safe once made. The order of samples depends on the data alone, never on
/// how they were listed.
class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// For messages: "cats/7.jpg", "train-0003.tar:7.jpg".
  [[nodiscard]] virtual std::string name(std::uint64_t index) const = 0;
  /// -1: none.
  [[nodiscard]] virtual std::int64_t label(std::uint64_t index) const = 0;
  /// Shard s holds the samples [starts[s], starts[s + 1]), the last one to the end: neighbours that
  /// are cheap to read together. At least {0}; a folder of files is one shard.
  [[nodiscard]] virtual std::span<const std::uint64_t> shard_starts() const = 0;
  /// Bytes of the sample as read() will give them.
  [[nodiscard]] virtual std::uint64_t bytes(std::uint64_t index) const = 0;
  /// The encoded sample, valid until `buffer` is used again.
  virtual Result<std::span<const std::byte>> read(std::uint64_t index,
                                                  storage::ReadBuffer& buffer) const = 0;
  /// Reads in flight and later ones end with Errc::interrupted soon.
  virtual void cancel() const = 0;
};

}  // namespace sluice::loader
