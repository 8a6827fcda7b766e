// tests/storage/signature_check.h - what a service does with a signed request: AWS Signature
// Version 4 verified, written from its specification and not from our signer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/storage/http_server.h"
#include <cstdint>
#include <map>
#include <string>

namespace sluice::storage::testing {

struct KnownKey {
  std::string secret;
  std::string session_token{};  // empty: a long-term key, which takes no token
  bool expired = false;         // the token was good once
};

struct SignatureRules {
  std::map<std::string, KnownKey> keys{};  // by access key id
  std::string region = "us-east-1";
  std::string service = "s3";
  bool anonymous = false;         // unsigned requests are answered too
  std::int64_t max_skew_s = 900;  // as S3
};

/// Why a request is refused, in S3's words; `code` empty: it is not.
struct Refusal {
  int status = 403;
  std::string code{};
  std::string message{};
};

/// `now`: the clock of the service, seconds since 1970.
Refusal check_signature(const HttpRequest& request, const SignatureRules& rules, std::int64_t now);

/// The three steps of the specification, one by one, for its published examples.
std::string canonical_request(const HttpRequest& request, const std::string& signed_headers);
std::string signature_of(const std::string& canonical, const std::string& time,
                         const std::string& scope, const std::string& secret);

/// "20130524T000000Z" as seconds since 1970; -1 when it is none.
std::int64_t parse_amz_date(const std::string& text);
std::string amz_date(std::int64_t seconds);
/// "Fri, 24 May 2013 00:00:00 GMT".
std::string http_date(std::int64_t seconds);

}  // namespace sluice::storage::testing
