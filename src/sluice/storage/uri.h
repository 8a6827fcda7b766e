// sluice/storage/uri.h - where data lies, as users write it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::storage {

enum class Scheme : std::uint8_t { path, s3, gs };

struct Uri {
  Scheme scheme = Scheme::path;
  std::filesystem::path path{};  // of Scheme::path
  std::string bucket{};
  std::string prefix{};  // without slashes at its ends; empty: the whole bucket
};

/// "s3://bucket/prefix", "gs://bucket/prefix", "file:///folder", or a path. Anything else with
/// "://" in it is Errc::usage.
Result<Uri> parse_uri(std::string_view text);

/// Errc::usage, without repeating it, for an address with a name or password before its host: it
/// would be in results and logs. `what` says whose address it is.
Status check_no_password(std::string_view what, std::string_view url);

/// Every byte but A-Z a-z 0-9 - . _ ~ as %XX; '/' stays where `keep_slash`.
std::string uri_encode(std::string_view text, bool keep_slash);
/// Nothing when a '%' is not followed by two digits. '+' stays.
std::optional<std::string> uri_decode(std::string_view text);

}  // namespace sluice::storage
