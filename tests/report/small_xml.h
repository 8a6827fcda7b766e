// tests/report/small_xml.h - a strict reader of the XML we write: elements, attributes, text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/text.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::testing {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // of its own, children left out
  std::vector<Element> children;

  [[nodiscard]] std::vector<const Element*> all(std::string_view wanted) const {
    std::vector<const Element*> found;
    for (const Element& child : children)
      if (child.name == wanted) found.push_back(&child);
    return found;
  }
};

/// Nothing for anything that is not well-formed: no entity but the five and &#39;, no character
/// that XML 1.0 forbids, no attribute twice, no text outside the one root.
class SmallXml {
 public:
  static std::optional<Element> parse(std::string_view text) {
    constexpr std::string_view kHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    if (!is_utf8(text) || !text.starts_with(kHead)) return std::nullopt;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 && c != '\n' && c != '\t') return std::nullopt;
    }
    if (text.find("\xEF\xBF\xBE") != text.npos || text.find("\xEF\xBF\xBF") != text.npos)
      return std::nullopt;
    SmallXml reader(text.substr(kHead.size()));
    auto root = reader.element();
    if (!root || reader.rest_ != "\n") return std::nullopt;
    return root;
  }

 private:
  explicit SmallXml(std::string_view text) : rest_(text) {}

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string name() {
    std::size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 ||
                                rest_[n] == '-' || rest_[n] == '_'))
      ++n;
    const std::string word(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return word;
  }
  /// Up to one of `ends`, which stays.
  std::optional<std::string> text_until(std::string_view ends) {
    std::string out;
    while (!rest_.empty() && ends.find(rest_.front()) == ends.npos) {
      if (rest_.front() == '<') return std::nullopt;
      if (rest_.front() != '&') {
        out += rest_.front();
        rest_.remove_prefix(1);
        continue;
      }
      static const std::map<std::string_view, char> kEntities{
          {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''}};
      bool known = false;
      for (const auto& entity : kEntities) {
        if (!take(entity.first)) continue;
        out += entity.second;
        known = true;
        break;
      }
      if (!known) return std::nullopt;
    }
    return out;
  }
  std::optional<Element> element() {
    Element found;
    if (!take("<")) return std::nullopt;
    found.name = name();
    if (found.name.empty()) return std::nullopt;
    while (take(" ")) {
      const std::string key = name();
      if (key.empty() || !take("=\"")) return std::nullopt;
      auto value = text_until("\"");
      if (!value || !take("\"") || !found.attributes.emplace(key, *value).second)
        return std::nullopt;
    }
    if (take("/>")) return found;
    if (!take(">")) return std::nullopt;
    while (true) {
      auto text = text_until("<");
      if (!text) return std::nullopt;
      found.text += *text;
      if (take("</" + found.name + ">")) return found;
      auto child = element();
      if (!child) return std::nullopt;
      found.children.push_back(std::move(*child));
    }
  }

  std::string_view rest_;
};

}  // namespace sluice::testing
