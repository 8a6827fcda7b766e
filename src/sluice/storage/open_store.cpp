// sluice/storage/open_store.cpp - from an address and the environment to a store.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/open_store.h"

#include "sluice/core/text.h"
#include "sluice/storage/cache/cache.h"
#include "sluice/storage/remote/gcs_store.h"
#include "sluice/storage/remote/s3_store.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <filesystem>

namespace sluice::storage {

namespace {

/// The first of them that is set.
std::string first_set(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto value = environment(name)) return *value;
  return {};
}

Result<RemoteOptions> remote_options(const StoreOptions& options) {
  RemoteOptions remote = options.remote;
  if (const auto text = options.environment("AWS_MAX_ATTEMPTS")) {
    const auto attempts = parse_attempts(*text);
    if (!attempts)
      return Error{Errc::usage,
                   fmt::format("AWS_MAX_ATTEMPTS is `{}`: expected 1 to 100", printable(*text))};
    remote.retry.max_attempts = *attempts;
  }
  if (remote.http.ca_file.empty())
    remote.http.ca_file = first_set(options.environment, {"AWS_CA_BUNDLE"});
  return remote;
}

/// Of a bucket: the one that was named, else the environment's; empty: the vendor's own.
std::string endpoint_of(Scheme scheme, const StoreOptions& options) {
  if (!options.endpoint.empty() || scheme == Scheme::path) return options.endpoint;
  if (scheme == Scheme::s3)
    return first_set(options.environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  return first_set(options.environment, {"STORAGE_EMULATOR_HOST"});
}

Result<std::unique_ptr<ObjectStore>> open_s3_uri(const Uri& uri, const StoreOptions& options) {
  S3Options s3;
  s3.bucket = uri.bucket;
  s3.prefix = uri.prefix;
  s3.endpoint = endpoint_of(uri.scheme, options);
  std::string region = options.region;
  if (region.empty()) region = first_set(options.environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (!region.empty()) s3.region = region;
  if (!options.anonymous)
    s3.credentials = open_credentials({.region = region, .environment = options.environment});
  SLUICE_TRY(s3.remote, remote_options(options));
  return open_s3(s3);
}

Result<std::unique_ptr<ObjectStore>> open_gcs_uri(const Uri& uri, const StoreOptions& options) {
  GcsOptions gcs;
  gcs.bucket = uri.bucket;
  gcs.prefix = uri.prefix;
  gcs.endpoint = options.endpoint;  // it looks for the environment's itself
  gcs.anonymous = options.anonymous;
  gcs.token.environment = options.environment;
  SLUICE_TRY(gcs.remote, remote_options(options));
  return open_gcs(gcs);
}

Status check_for_path(const StoreOptions& options) {
  const char* flag = nullptr;
  if (!options.endpoint.empty()) flag = "an endpoint";
  if (!options.region.empty()) flag = "a region";
  if (options.anonymous) flag = "anonymous access";
  if (flag == nullptr) return ok;
  return Error{Errc::usage, fmt::format("`{}` is a path: {} goes with s3:// and gs:// only",
                                        printable(options.input), flag)};
}

std::string store_id(const ObjectStore& store, const Uri& uri, const StoreOptions& options) {
  const std::string endpoint = endpoint_of(uri.scheme, options);
  return endpoint.empty() ? store.name() : store.name() + " at " + endpoint;
}

}  // namespace

Result<std::string> store_id(const ObjectStore& store, const StoreOptions& options) {
  SLUICE_TRY(const Uri uri, parse_uri(options.input));
  if (uri.scheme != Scheme::path) return store_id(store, uri, options);
  std::error_code code;
  const std::filesystem::path path = std::filesystem::canonical(uri.path, code);
  if (code)
    return Error{Errc::io,
                 fmt::format("{}: {}", printable(options.input), printable(code.message()))};
  return path.string();
}

Result<std::shared_ptr<ObjectStore>> open_store(const StoreOptions& options) {
  SLUICE_TRY(const Uri uri, parse_uri(options.input));
  std::unique_ptr<ObjectStore> opened;
  if (uri.scheme == Scheme::path) {
    SLUICE_CHECK(check_for_path(options));
    SLUICE_TRY(opened, open_local({.path = uri.path, .read_mode = options.read_mode}));
  } else if (uri.scheme == Scheme::s3) {
    SLUICE_TRY(opened, open_s3_uri(uri, options));
  } else {
    SLUICE_TRY(opened, open_gcs_uri(uri, options));
  }
  std::shared_ptr<ObjectStore> store = std::move(opened);
  if (options.cache_dir.empty()) return store;
  CacheOptions cache;
  cache.folder = options.cache_dir;
  cache.max_bytes = options.cache_bytes;
  cache.store_id = store_id(*store, uri, options);
  return open_cached(std::move(store), cache);
}

}  // namespace sluice::storage
