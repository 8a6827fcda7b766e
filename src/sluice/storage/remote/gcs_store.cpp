// sluice/storage/remote/gcs_store.cpp - which API and which proof a bucket is read with.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/gcs_store.h"

#include "sluice/core/text.h"
#include "sluice/storage/credentials/refresh.h"
#include "sluice/storage/remote/gcs_dialect.h"
#include "sluice/storage/remote/s3_store.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::storage {
namespace {

constexpr std::string_view kGoogle = "https://storage.googleapis.com";

bool is_gcs_bucket_name(std::string_view name) {
  return name.size() >= 3 && name.size() <= 222 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

/// `text` may lack its scheme, as STORAGE_EMULATOR_HOST does by habit.
Result<std::string> checked_endpoint(std::string text, bool scheme_may_lack) {
  SLUICE_CHECK(check_no_password("endpoint", text));
  if (scheme_may_lack && text.find("://") == std::string::npos) text = "http://" + text;
  while (text.ends_with('/'))
    text.pop_back();
  const std::size_t host = text.find("://") + 3;
  if ((!text.starts_with("http://") && !text.starts_with("https://")) || text.size() <= host ||
      text.find_first_of("@?# \t\r\n") != std::string::npos)
    return Error{
        Errc::usage,
        fmt::format("endpoint `{}`: expected http://HOST[:PORT] or https://...", printable(text))};
  return text;
}

std::optional<Credentials> hmac_keys(const GcsOptions& options) {
  if (options.hmac) return options.hmac;
  const auto key = options.token.environment("GS_ACCESS_KEY_ID");
  const auto secret = options.token.environment("GS_SECRET_ACCESS_KEY");
  if (!key || !secret) return std::nullopt;
  return Credentials{*key, *secret, {}, std::nullopt};
}

Result<std::unique_ptr<ObjectStore>> open_by_hmac(const GcsOptions& options, std::string endpoint,
                                                  const Credentials& keys) {
  S3Options s3;
  s3.bucket = options.bucket;
  s3.prefix = options.prefix;
  s3.endpoint = std::move(endpoint);
  s3.region = "auto";
  s3.addressing = Addressing::path;
  s3.credentials = refreshing_credentials([keys]() -> Result<Credentials> { return keys; });
  s3.scheme = "gs";
  s3.remote = options.remote;
  return open_s3(s3);
}

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_gcs(const GcsOptions& options) {
  if (!is_gcs_bucket_name(options.bucket))
    return Error{Errc::usage, fmt::format("`{}` is not the name of a bucket: 3 to 222 small "
                                          "letters, digits, `-`, `_` and `.`",
                                          printable(options.bucket))};
  const auto emulator = options.token.environment("STORAGE_EMULATOR_HOST");
  const bool named = options.endpoint.empty() && emulator;
  std::string endpoint = options.endpoint.empty() ? std::string(kGoogle) : options.endpoint;
  SLUICE_TRY(endpoint, checked_endpoint(named ? *emulator : endpoint, named));
  const bool anonymous = options.anonymous || named;
  // Nobody else serves objects without encryption to anybody.
  const bool emulated = anonymous && endpoint.starts_with("http://");

  if (const auto keys = hmac_keys(options); keys && !anonymous)
    return open_by_hmac(options, std::move(endpoint), *keys);

  GcsDialectOptions dialect;
  dialect.endpoint = std::move(endpoint);
  dialect.bucket = options.bucket;
  dialect.root = options.prefix;
  while (dialect.root.ends_with('/'))
    dialect.root.pop_back();
  if (!dialect.root.empty()) dialect.root += '/';
  if (!anonymous) dialect.token = open_gcs_token(options.token);
  dialect.versions = !emulated;
  return open_remote(make_gcs_dialect(std::move(dialect)), options.remote);
}

}  // namespace sluice::storage
