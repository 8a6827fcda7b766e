// sluice/storage/remote/s3_store.h - objects of an S3 bucket, or of what speaks like one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/credentials/credentials.h"
#include "sluice/storage/remote/remote_store.h"

#include <memory>
#include <string>
#include <string_view>

namespace sluice::storage {

enum class Addressing : std::uint8_t {
  automatic,     // AWS: virtual_host where the name of the bucket allows it; elsewhere: path
  path,          // https://host/bucket/key
  virtual_host,  // https://bucket.host/key
};

struct S3Options {
  std::string bucket;
  std::string prefix{};    // "data/train": keys are relative to it; empty: the whole bucket
  std::string endpoint{};  // "http://127.0.0.1:9000"; empty: AWS in `region`
  std::string region = "us-east-1";
  Addressing addressing = Addressing::automatic;
  std::shared_ptr<CredentialSource> credentials{};  // nullptr: anonymous
  std::string scheme = "s3";                        // in names and messages only
  RemoteOptions remote{};
};

/// A bucket or endpoint that cannot be is Errc::usage. Asks the server nothing yet.
Result<std::unique_ptr<ObjectStore>> open_s3(const S3Options& options);

/// The requests and answers alone, for tests.
Result<std::unique_ptr<Dialect>> make_s3_dialect(const S3Options& options);

/// An ETag without its quotes and the mark of a weak one.
std::string s3_version(std::string_view etag);

/// Keys, sizes and ETags of a ListObjectsV2 answer; `root` is taken off the keys.
Result<ListPage> parse_s3_listing(std::string_view xml, std::string_view root);

/// <Error> of an answer; members that are not there are empty.
struct S3ErrorBody {
  std::string code;
  std::string message;
  std::string region;
};
S3ErrorBody parse_s3_error(std::string_view xml);

}  // namespace sluice::storage
