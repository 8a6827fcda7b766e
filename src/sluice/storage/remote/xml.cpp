// sluice/storage/remote/xml.cpp - tags, text and the five entities.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/xml.h"

#include "sluice/storage/uri.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace sluice::storage {

namespace {

constexpr std::size_t kMaxXmlDepth = 32;

Error invalid(const char* what) {
  return Error{Errc::invalid_input, what};
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 63));
    put(0x80 | ((code >> 6) & 63));
    put(0x80 | (code & 63));
  }
}

/// What stands between '&' and ';'.
bool append_entity(std::string& out, std::string_view name) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kNamed)
    if (name == known) {
      out += character;
      return true;
    }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const int base = name.starts_with('x') ? 16 : 10;
  if (base == 16) name.remove_prefix(1);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, base);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (error != std::errc() || end != name.data() + name.size() || name.empty() || code == 0 ||
      code > 0x10FFFF || surrogate)
    return false;
  append_utf8(out, code);
  return true;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Of "ns:Key attribute='1'": "Key".
std::string_view local_name(std::string_view tag) {
  tag = tag.substr(0, tag.find_first_of(" \t\r\n"));
  const std::size_t colon = tag.rfind(':');
  return colon == std::string_view::npos ? tag : tag.substr(colon + 1);
}

}  // namespace

Status XmlReader::take_text(std::string_view raw) {
  text_.clear();
  while (!raw.empty()) {
    const std::size_t at = raw.find('&');
    text_ += raw.substr(0, at);
    if (at == std::string_view::npos) break;
    const std::size_t end = raw.find(';', at);
    if (end == std::string_view::npos || !append_entity(text_, raw.substr(at + 1, end - at - 1)))
      return invalid("XML with an unknown entity");
    raw.remove_prefix(end + 1);
  }
  return ok;
}

Result<XmlReader::Event> XmlReader::take_tag(std::string_view tag) {
  if (tag.starts_with('/')) {
    name_ = local_name(tag.substr(1));
    if (open_.empty() || open_.back() != name_) return invalid("XML with tags that do not match");
    open_.pop_back();
    return Event::close;
  }
  const bool empty = tag.ends_with('/');
  if (empty) tag.remove_suffix(1);
  name_ = local_name(tag);
  if (name_.empty() || name_.starts_with('!')) return invalid("XML with a tag without a name");
  if (open_.empty() && seen_root_) return invalid("XML with a second document");
  if (open_.size() >= kMaxXmlDepth) return invalid("XML with too many levels");
  seen_root_ = true;
  open_.push_back(name_);
  if (empty) to_close_ = name_;
  return Event::open;
}

Result<XmlReader::Event> XmlReader::next() {
  if (to_close_) {
    name_ = *std::exchange(to_close_, std::nullopt);
    open_.pop_back();
    text_.clear();
    return Event::close;
  }
  if (rest_.starts_with("\xEF\xBB\xBF") && !seen_root_) rest_.remove_prefix(3);
  while (true) {
    const std::size_t at = rest_.find('<');
    const std::string_view before = rest_.substr(0, at);
    if (open_.empty() && !is_blank(before)) return invalid("text outside of XML");
    if (at == std::string_view::npos) {
      if (!open_.empty() || !seen_root_) return invalid("XML that ends too early");
      return Event::end;
    }
    const bool comment = rest_.substr(at).starts_with("<!--");
    const bool header = rest_.substr(at).starts_with("<?");
    const std::string_view closing = comment ? "-->" : header ? "?>" : ">";
    const std::size_t end = rest_.find(closing, at + 1);
    if (end == std::string_view::npos) return invalid("XML that ends too early");
    const std::string_view tag = rest_.substr(at + 1, end - at - 1);
    if (!comment && !header) SLUICE_CHECK(take_text(before));
    rest_.remove_prefix(end + closing.size());
    if (!comment && !header) return take_tag(tag);
  }
}

std::optional<std::string> url_decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return uri_decode(spaced);
}

}  // namespace sluice::storage
