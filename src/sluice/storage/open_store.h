// sluice/storage/open_store.h - the store that an address names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/credentials/chain.h"
#include "sluice/storage/local/store.h"
#include "sluice/storage/object_store.h"
#include "sluice/storage/remote/remote_store.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace sluice::storage {

struct StoreOptions {
  std::string input;       // a path, s3://bucket/prefix, gs://bucket/prefix
  std::string endpoint{};  // of s3 and gs; empty: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or
                           // STORAGE_EMULATOR_HOST, else AWS or Google themselves
  std::string region{};    // of s3; empty: AWS_REGION, AWS_DEFAULT_REGION, us-east-1
  bool anonymous = false;  // s3 and gs: requests are not signed
  ReadMode read_mode = ReadMode::buffered;  // of a path
  std::string cache_dir{};                  // empty: no cache
  std::uint64_t cache_bytes = std::uint64_t{64} << 30U;
  RemoteOptions remote{};  // AWS_MAX_ATTEMPTS and AWS_CA_BUNDLE come before its values
  Environment environment = process_environment();
};

/// As a spec or a request has them, in fields of the same names.
template <class Where>
StoreOptions store_options(std::string input, const Where& where) {
  StoreOptions options;
  options.input = std::move(input);
  options.endpoint = where.endpoint;
  options.region = where.region;
  options.anonymous = where.anonymous;
  options.cache_dir = where.cache_dir;
  return options;
}

/// Reads the environment once, here. Asks no server yet; a path must exist. An endpoint, region or
/// anonymity for a path is Errc::usage: it would do nothing.
Result<std::shared_ptr<ObjectStore>> open_store(const StoreOptions& options);

/// Names `store`, which was opened with `options`, among all there are: the same bucket name at two
/// endpoints is two buckets; a path is absolute and without links.
Result<std::string> store_id(const ObjectStore& store, const StoreOptions& options);

}  // namespace sluice::storage
