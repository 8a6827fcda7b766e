// sluice/storage/remote/xml.h - the little XML that object stores speak, read strictly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::storage {

/// Walks through a document element by element. Attributes and comments are passed over; there are
/// no DOCTYPE, CDATA sections or entities beyond the five and characters by number. At most 32
/// elements deep. An Error is of the document and ends the walk.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) {}

  enum class Event { open, close, end };
  /// Goes to the next tag.
  Result<Event> next();
  /// Of the tag that next() gave, without prefix "ns:".
  [[nodiscard]] std::string_view name() const { return name_; }
  /// The text between the tag before and this one: of a closing tag without children, its content.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Open elements, the one just opened included.
  [[nodiscard]] std::size_t depth() const { return open_.size(); }

 private:
  Result<Event> take_tag(std::string_view tag);
  Status take_text(std::string_view raw);

  std::string_view rest_;
  std::string_view name_;
  std::string text_;
  std::vector<std::string_view> open_;
  std::optional<std::string_view> to_close_;  // of an empty element, <a/>
  bool seen_root_ = false;
};

/// "a%20b+c" as "a b c"; nothing when a '%' is not followed by two digits.
std::optional<std::string> url_decoded(std::string_view text);

}  // namespace sluice::storage
