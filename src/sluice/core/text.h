// sluice/core/text.h - small text helpers that several rooms need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to a misspelt `word`, if any is near enough to be worth suggesting
/// (distance at most a third of the longer word, at least 1).
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

/// Splits at every separator; "a,,b" gives three parts, "" gives none.
std::vector<std::string> split(std::string_view text, char separator);

/// Without the blanks (space, tab, \r, \n) at both ends.
std::string_view trimmed(std::string_view text);

/// For a cell of a Markdown table, where a bar would end the cell and a newline the table.
std::string table_cell(std::string_view text);

/// Bytes seen as characters.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Control characters, newlines and invalid UTF-8 made visible (`\x1b`, `\n`), so that a hostile
/// file name cannot forge a second line or colour in an error.
std::string printable(std::string_view text);

/// Bytes as letters, RFC 4648, with padding.
std::string base64(std::string_view bytes);

/// Strict: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);
/// Every byte that is no part of a valid character becomes U+FFFD.
std::string to_utf8(std::string_view text);

}  // namespace sluice
