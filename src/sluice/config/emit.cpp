// sluice/config/emit.cpp - block YAML with safe quoting.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/emit.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::config {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Words that some YAML reader takes for true, false or null.
bool is_reserved(std::string_view text) {
  constexpr std::array<std::string_view, 9> kReserved{"true", "false", "null", "yes", "no",
                                                      "on",   "off",   "y",    "n"};
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(kReserved.begin(), kReserved.end(), lower) != kReserved.end();
}

/// Begins like a word and holds nothing that YAML gives a meaning.
bool is_plain_word(std::string_view text) {
  if (text.empty() || !is_letter(text.front()) || is_reserved(text)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '/' || c == '-' || c == '+';
  });
}

/// Numbers, true, false, and numbers with units.
bool is_plain_value(std::string_view text) {
  if (text == "true" || text == "false") return true;
  if (text.empty() || !(is_digit(text.front()) || text.size() > 1)) return false;
  const bool starts =
      is_digit(text[0]) || ((text[0] == '-' || text[0] == '+' || text[0] == '.') &&
                            (is_digit(text[1]) || is_letter(text[1]) || text[1] == '.'));
  if (!starts) return false;
  return text != "..." && std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '+' || c == '%';
         });
}

std::string double_quoted(std::string_view raw) {
  std::string out = "\"";
  for (const char c : to_utf8(raw)) {
    switch (c) {
      case '"':
        out += "\\\"";
        continue;
      case '\\':
        out += "\\\\";
        continue;
      case '\n':
        out += "\\n";
        continue;
      case '\r':
        out += "\\r";
        continue;
      case '\t':
        out += "\\t";
        continue;
      default:
        break;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string scalar(const Node& node) {
  if (node.is_null()) return "null";
  const std::string& text = node.text();
  if (is_plain_word(text)) return text;
  return !node.is_text() && is_plain_value(text) ? text : double_quoted(text);
}

std::string key_text(const std::string& key) {
  return is_plain_word(key) ? key : double_quoted(key);
}

bool fits_inline(const Node& node) {
  return node.is_scalar() || node.is_null() || (node.items().empty() && node.entries().empty());
}

std::string block(const Node& node, std::size_t level);

/// After "key:" or "-".
std::string inline_value(const Node& node) {
  if (node.is_list()) return "[]";
  if (node.is_map()) return "{}";
  return scalar(node);
}

std::string list_item(const Node& item, std::size_t level) {
  const std::string indent(2 * level, ' ');
  if (fits_inline(item)) return indent + "- " + inline_value(item) + "\n";
  std::string text = block(item, level + 1);
  text[2 * level] = '-';  // "    a: 1" becomes "  - a: 1"
  return text;
}

std::string block(const Node& node, std::size_t level) {
  std::string text;
  for (const Node& item : node.items())
    text += list_item(item, level);
  for (const Entry& entry : node.entries()) {
    text += std::string(2 * level, ' ') + key_text(entry.key) + ":";
    if (fits_inline(entry.value)) {
      text += " " + inline_value(entry.value) + "\n";
    } else {
      text += "\n" + block(entry.value, level + 1);
    }
  }
  return text;
}

}  // namespace

std::string to_yaml(const Node& node) {
  return fits_inline(node) ? inline_value(node) + "\n" : block(node, 0);
}

std::string to_yaml_line(const Node& node) {
  if (fits_inline(node)) return inline_value(node);
  std::vector<std::string> parts;
  for (const Node& item : node.items())
    parts.push_back(to_yaml_line(item));
  for (const Entry& entry : node.entries()) {
    parts.push_back(key_text(entry.key) + ": " + to_yaml_line(entry.value));
  }
  return node.is_list() ? "[" + join(parts) + "]" : "{" + join(parts) + "}";
}

}  // namespace sluice::config
