// tests/storage/signature_check.cpp - SigV4 from the side of the service.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/signature_check.h"

#include "sluice/core/sha256.h"
#include "sluice/core/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <ctime>
#include <vector>

namespace sluice::storage::testing {
namespace {

using Bytes = std::array<std::uint8_t, 32>;

/// RFC 2104 with SHA-256.
Bytes keyed_hash(const std::string& key, const std::string& text) {
  std::array<std::uint8_t, 64> block{};
  if (key.size() > block.size()) {
    Sha256 hash;
    hash.update(key);
    const Bytes digest = hash.digest();
    std::copy(digest.begin(), digest.end(), block.begin());
  } else {
    std::memcpy(block.data(), key.data(), key.size());
  }
  std::array<std::uint8_t, 64> inner{};
  std::array<std::uint8_t, 64> outer{};
  for (std::size_t i = 0; i < block.size(); ++i) {
    inner[i] = static_cast<std::uint8_t>(block[i] ^ 0x36);
    outer[i] = static_cast<std::uint8_t>(block[i] ^ 0x5c);
  }
  Sha256 first;
  first.update(std::span<const std::uint8_t>(inner));
  first.update(text);
  const Bytes digest = first.digest();
  Sha256 second;
  second.update(std::span<const std::uint8_t>(outer));
  second.update(std::span<const std::uint8_t>(digest));
  return second.digest();
}

std::string as_text(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

std::string hex(const Bytes& bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

/// UriEncode() of the specification: everything but the unreserved characters.
std::string uri_encode(const std::string& text, bool keep_slash) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 128 && std::isalnum(byte) != 0) || std::strchr("-._~", c) != nullptr ||
        (keep_slash && c == '/')) {
      if (c != '\0') {
        out += c;
        continue;
      }
    }
    out += '%';
    out += "0123456789ABCDEF"[byte >> 4];
    out += "0123456789ABCDEF"[byte & 15];
  }
  return out;
}

std::string canonical_query(const std::string& query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : split(query, '&')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    pairs.emplace_back(
        uri_encode(percent_decode(part.substr(0, equals)), false),
        uri_encode(percent_decode(part.substr(std::min(equals + 1, part.size()))), false));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const auto& [name, value] : pairs)
    out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

/// Runs of spaces become one.
std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : value)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  return out;
}

struct Authorization {
  std::string key_id, date, region, service, signed_headers, signature;
};

/// "AWS4-HMAC-SHA256 Credential=AK/20130524/us-east-1/s3/aws4_request, SignedHeaders=…,
/// Signature=…"
bool parse_authorization(Authorization& out, std::string_view header) {
  constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256 ";
  if (!header.starts_with(kAlgorithm)) return false;
  for (const std::string& part : split(header.substr(kAlgorithm.size()), ',')) {
    const std::string text = part.substr(std::min(part.find_first_not_of(' '), part.size()));
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    const std::string value = text.substr(std::min(equals + 1, text.size()));
    if (name == "SignedHeaders") {
      out.signed_headers = value;
    } else if (name == "Signature") {
      out.signature = value;
    } else if (name == "Credential") {
      const auto scope = split(value, '/');
      if (scope.size() != 5 || scope[4] != "aws4_request") return false;
      out.key_id = scope[0];
      out.date = scope[1];
      out.region = scope[2];
      out.service = scope[3];
    }
  }
  return !out.key_id.empty() && !out.signed_headers.empty() && out.signature.size() == 64;
}

/// Host and every x-amz- header that came must be signed.
bool signs_enough(const HttpRequest& request, const std::string& signed_headers) {
  const auto names = split(signed_headers, ';');
  const auto is_signed = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!std::is_sorted(names.begin(), names.end()) || !is_signed("host")) return false;
  for (const auto& header : request.headers)
    if (header.first.starts_with("x-amz-") && !is_signed(header.first)) return false;
  return true;
}

Refusal check_token(const HttpRequest& request, const KnownKey& key) {
  const std::string_view token = request.header("x-amz-security-token");
  if (token != key.session_token)
    return {400, "InvalidToken", "The provided token is malformed or otherwise invalid."};
  if (key.expired) return {400, "ExpiredToken", "The provided token has expired."};
  return {};
}

Refusal check_time(const Authorization& authorization, const std::string& time,
                   const SignatureRules& rules, std::int64_t now) {
  const std::int64_t signed_at = parse_amz_date(time);
  if (signed_at < 0 || time.substr(0, 8) != authorization.date)
    return {403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header"};
  if (std::abs(signed_at - now) > rules.max_skew_s)
    return {403, "RequestTimeTooSkewed",
            "The difference between the request time and the current time is too large."};
  return {};
}

Refusal check_scope(const Authorization& authorization, const SignatureRules& rules) {
  if (authorization.region != rules.region)
    return {400, "AuthorizationHeaderMalformed",
            "The authorization header is malformed; the region '" + authorization.region +
                "' is wrong; expecting '" + rules.region + "'"};
  if (authorization.service != rules.service)
    return {400, "AuthorizationHeaderMalformed", "The service is wrong."};
  return {};
}

Refusal check_payload(const HttpRequest& request, const SignatureRules& rules) {
  const std::string_view declared = request.header("x-amz-content-sha256");
  if (declared == "UNSIGNED-PAYLOAD" || (declared.empty() && rules.service != "s3")) return {};
  if (declared == sha256_hex(std::string_view(request.body))) return {};
  return {400, declared.empty() ? "InvalidRequest" : "XAmzContentSHA256Mismatch",
          "The provided 'x-amz-content-sha256' header does not match what was computed."};
}

}  // namespace

std::string canonical_request(const HttpRequest& request, const std::string& signed_headers) {
  std::string out = request.method + "\n" + uri_encode(percent_decode(request.path), true) + "\n" +
                    canonical_query(request.query) + "\n";
  for (const std::string& name : split(signed_headers, ';'))
    out += name + ":" + canonical_value(request.header(name)) + "\n";
  const std::string_view payload = request.header("x-amz-content-sha256");
  return out + "\n" + signed_headers + "\n" +
         (payload.empty() ? sha256_hex(std::string_view(request.body)) : std::string(payload));
}

std::string signature_of(const std::string& canonical, const std::string& time,
                         const std::string& scope, const std::string& secret) {
  std::string key = "AWS4" + secret;
  for (const std::string& part : split(scope, '/'))
    key = as_text(keyed_hash(key, part));
  return hex(keyed_hash(key, "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" +
                                 sha256_hex(std::string_view(canonical))));
}

Refusal check_signature(const HttpRequest& request, const SignatureRules& rules, std::int64_t now) {
  const std::string_view header = request.header("authorization");
  if (header.empty())
    return rules.anonymous ? Refusal{} : Refusal{403, "AccessDenied", "Access Denied"};
  Authorization authorization;
  if (!parse_authorization(authorization, header))
    return {400, "AuthorizationHeaderMalformed", "The authorization header is malformed."};
  const auto key = rules.keys.find(authorization.key_id);
  if (key == rules.keys.end())
    return {403, "InvalidAccessKeyId",
            "The AWS Access Key Id you provided does not exist in our records."};
  const std::string time(request.header("x-amz-date"));
  for (const Refusal& refusal :
       {check_time(authorization, time, rules, now), check_token(request, key->second),
        check_scope(authorization, rules), check_payload(request, rules)})
    if (!refusal.code.empty()) return refusal;
  if (!signs_enough(request, authorization.signed_headers))
    return {403, "AccessDenied", "There were headers present in the request which were not signed"};
  const std::string scope = authorization.date + "/" + authorization.region + "/" +
                            authorization.service + "/aws4_request";
  const std::string canonical = canonical_request(request, authorization.signed_headers);
  if (signature_of(canonical, time, scope, key->second.secret) != authorization.signature)
    return {403, "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided."};
  return {};
}

std::int64_t parse_amz_date(const std::string& text) {
  std::tm tm{};
  const char* end = ::strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &tm);
  return end != nullptr && *end == '\0' && text.size() == 16 ? ::timegm(&tm) : -1;
}

namespace {
std::string formatted(std::int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm tm{};
  ::gmtime_r(&time, &tm);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &tm)};
}
}  // namespace

std::string amz_date(std::int64_t seconds) {
  return formatted(seconds, "%Y%m%dT%H%M%SZ");
}
std::string http_date(std::int64_t seconds) {
  return formatted(seconds, "%a, %d %b %Y %H:%M:%S GMT");
}

}  // namespace sluice::storage::testing
