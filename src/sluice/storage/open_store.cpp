// sluice/storage/open_store.cpp - from an address and the environment to a store.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/open_store.h"

#include "sluice/core/text.h"
#include "sluice/storage/cache/cache.h"
#include "sluice/storage/remote/gcs_store.h"
#include "sluice/storage/remote/s3_store.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

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

Result<std::unique_ptr<ObjectStore>> open_s3_uri(const Uri& uri, const StoreOptions& options,
                                                 std::string& endpoint) {
  S3Options s3;
  s3.bucket = uri.bucket;
  s3.prefix = uri.prefix;
  if (endpoint.empty())
    endpoint = first_set(options.environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  s3.endpoint = endpoint;
  std::string region = options.region;
  if (region.empty()) region = first_set(options.environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (!region.empty()) s3.region = region;
  if (!options.anonymous)
    s3.credentials = open_credentials({.region = region, .environment = options.environment});
  SLUICE_TRY(s3.remote, remote_options(options));
  return open_s3(s3);
}

Result<std::unique_ptr<ObjectStore>> open_gcs_uri(const Uri& uri, const StoreOptions& options,
                                                  std::string& endpoint) {
  GcsOptions gcs;
  gcs.bucket = uri.bucket;
  gcs.prefix = uri.prefix;
  gcs.endpoint = endpoint;
  gcs.anonymous = options.anonymous;
  gcs.token.environment = options.environment;
  SLUICE_TRY(gcs.remote, remote_options(options));
  if (endpoint.empty()) endpoint = first_set(options.environment, {"STORAGE_EMULATOR_HOST"});
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

}  // namespace

Result<std::shared_ptr<ObjectStore>> open_store(const StoreOptions& options) {
  SLUICE_TRY(const Uri uri, parse_uri(options.input));
  std::unique_ptr<ObjectStore> opened;
  std::string endpoint = options.endpoint;
  if (uri.scheme == Scheme::path) {
    SLUICE_CHECK(check_for_path(options));
    SLUICE_TRY(opened, open_local({.path = uri.path, .read_mode = options.read_mode}));
  } else if (uri.scheme == Scheme::s3) {
    SLUICE_TRY(opened, open_s3_uri(uri, options, endpoint));
  } else {
    SLUICE_TRY(opened, open_gcs_uri(uri, options, endpoint));
  }
  std::shared_ptr<ObjectStore> store = std::move(opened);
  if (options.cache_dir.empty()) return store;
  CacheOptions cache;
  cache.folder = options.cache_dir;
  cache.max_bytes = options.cache_bytes;
  // The same bucket name at two endpoints is two buckets.
  if (!endpoint.empty()) cache.store_id = store->name() + " at " + endpoint;
  return open_cached(std::move(store), cache);
}

}  // namespace sluice::storage
