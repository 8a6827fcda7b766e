// sluice/storage/credentials/sigv4.h - AWS Signature Version 4: the proof that a request comes from
// a key.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/credentials/credentials.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::storage {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// RFC 2104.
Sha256Digest hmac_sha256(std::span<const std::uint8_t> key, std::string_view text);

/// SHA-256 of nothing: the payload of every request that sends none.
inline constexpr std::string_view kEmptyPayload =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Names and values in their own bytes, not encoded.
struct SigningRequest {
  std::string method = "GET";
  std::string path = "/";
  std::vector<std::pair<std::string, std::string>> query{};
  std::vector<std::pair<std::string, std::string>> headers{};  // all are signed; names lower case
  std::string payload_hash{kEmptyPayload};
};

/// "a=1&b=%20", sorted as it is signed: what must be sent as well.
std::string canonical_query(const std::vector<std::pair<std::string, std::string>>& query);
/// "host;x-amz-date".
std::string signed_headers(const SigningRequest& request);
std::string canonical_request(const SigningRequest& request);

/// "20150830T123600Z".
std::string amz_date(std::int64_t unix_s);
/// "20150830/us-east-1/s3/aws4_request".
std::string signing_scope(std::string_view amz_date, std::string_view region,
                          std::string_view service);
std::string string_to_sign(const SigningRequest& request, std::string_view amz_date,
                           std::string_view scope);
Sha256Digest signing_key(std::string_view secret, std::string_view day, std::string_view region,
                         std::string_view service);

/// Signs for one service. Thread-safe; keeps the key derived last (it holds for a day, a region and
/// a secret).
class Signer {
 public:
  explicit Signer(std::string service) : service_(std::move(service)) {}

  /// Header lines to send beside `host`: x-amz-date, x-amz-content-sha256, the token if there is
  /// one, authorization. `request.headers` has at least the host.
  std::vector<std::string> sign(SigningRequest request, const Credentials& credentials,
                                std::string_view region, std::int64_t unix_s);
  /// The authorization alone, over exactly the headers that are there.
  std::string authorization(const SigningRequest& request, const Credentials& credentials,
                            std::string_view region, std::string_view amz_date);

 private:
  struct Derived {
    std::string day, region, secret;
    Sha256Digest key{};
  };
  Sha256Digest derived(std::string_view secret, std::string_view day, std::string_view region);

  std::string service_;
  std::mutex mutex_;
  Derived last_;
};

}  // namespace sluice::storage
