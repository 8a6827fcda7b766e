// sluice/storage/uri.cpp - schemes told apart.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/uri.h"

#include "sluice/core/secrets.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <charconv>

namespace sluice::storage {

Result<Uri> parse_uri(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return Error{Errc::usage, fmt::format("`{}`: {}: expected a path, s3://BUCKET/PREFIX or "
                                          "gs://BUCKET/PREFIX",
                                          printable(without_passwords(text)), why)};
  };
  Uri uri;
  const std::size_t mark = text.find("://");
  if (mark == std::string_view::npos) {
    if (text.empty()) return refuse("nothing named");
    uri.path = text;
    return uri;
  }
  const std::string_view scheme = text.substr(0, mark);
  std::string_view rest = text.substr(mark + 3);
  if (scheme == "file") {
    if (!rest.starts_with('/')) return refuse("not a path of this machine");
    uri.path = rest;
    return uri;
  }
  if (scheme == "s3")
    uri.scheme = Scheme::s3;
  else if (scheme == "gs")
    uri.scheme = Scheme::gs;
  else
    return refuse("unknown kind of address");
  const std::size_t slash = rest.find('/');
  uri.bucket = rest.substr(0, slash);
  if (uri.bucket.empty()) return refuse("no bucket named");
  if (uri.bucket.find('@') != std::string::npos)
    return refuse("a name or password, which no address may hold");
  if (slash != std::string_view::npos)
    rest.remove_prefix(slash + 1);
  else
    rest = {};
  while (rest.starts_with('/'))
    rest.remove_prefix(1);
  while (rest.ends_with('/'))
    rest.remove_suffix(1);
  uri.prefix = rest;
  return uri;
}

Status check_no_password(std::string_view what, std::string_view url) {
  if (url.find('@') == std::string_view::npos) return ok;
  return Error{Errc::usage,
               fmt::format("{}: holds an `@`, as if a name or password stood before its host, and "
                           "is not repeated here: expected http://HOST[:PORT] or https://...",
                           what)};
}

std::string uri_encode(std::string_view text, bool keep_slash) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size() + 16);
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slash);
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<std::string> uri_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const char* first = text.data() + i + 1;
    const auto [end, error] = std::from_chars(first, first + 2, byte, 16);
    if (error != std::errc() || end != first + 2) return std::nullopt;
    out += static_cast<char>(static_cast<unsigned char>(byte));
    i += 2;
  }
  return out;
}

}  // namespace sluice::storage
