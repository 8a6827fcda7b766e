// tests/storage/generated_objects.h - objects whose names and bytes follow from a number: any
// range of any of a million can be made and checked, and nothing is held.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::storage::testing {

/// Objects PREFIX00000000SUFFIX, PREFIX00000001SUFFIX, ...: nothing is held for them.
struct GeneratedObjects {
  std::string prefix{};
  std::string suffix{};
  std::uint64_t count = 0;
  std::uint64_t size = 0;

  [[nodiscard]] std::string key(std::uint64_t index) const;
  /// The first index whose key is not below `bound`; the first above it with `above`.
  [[nodiscard]] std::uint64_t first(std::string_view bound, bool above) const;
  [[nodiscard]] bool holds(std::string_view key) const;
};

/// Byte `offset` on of the generated object `key` in its version `version`.
void generated_content(std::span<std::byte> out, std::string_view key, std::uint64_t version,
                       std::uint64_t offset);

/// With its quotation marks.
std::string etag_of(std::string_view key, std::uint64_t version);

/// All of `text` as a number, or nothing.
std::optional<std::uint64_t> parse_number(std::string_view text);

}  // namespace sluice::storage::testing
