// sluice/storage/uri.cpp - schemes told apart.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/uri.h"

#include "sluice/core/secrets.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

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

}  // namespace sluice::storage
