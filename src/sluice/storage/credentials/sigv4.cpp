// sluice/storage/credentials/sigv4.cpp - canonical request, string to sign, derived key.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/credentials/sigv4.h"

#include "sluice/core/sha256.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace sluice::storage {

namespace {

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

/// Ends trimmed, runs of blanks as one.
std::string canonical_value(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank)
      text += c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// By name; headers of one name keep their order and share a line.
std::vector<std::pair<std::string, std::string>> canonical_headers(const SigningRequest& request) {
  auto headers = request.headers;
  std::ranges::stable_sort(headers, {}, [](const auto& header) { return header.first; });
  std::vector<std::pair<std::string, std::string>> merged;
  for (auto& [name, value] : headers) {
    if (!merged.empty() && merged.back().first == name)
      merged.back().second += "," + canonical_value(value);
    else
      merged.emplace_back(std::move(name), canonical_value(value));
  }
  return merged;
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Sha256Digest hmac_sha256(std::span<const std::uint8_t> key, std::string_view text) {
  std::array<std::uint8_t, 64> block{};
  if (key.size() > block.size()) {
    Sha256 hash;
    hash.update(key);
    std::ranges::copy(hash.digest(), block.begin());
  } else {
    std::ranges::copy(key, block.begin());
  }
  for (std::uint8_t& byte : block)
    byte ^= 0x36;
  Sha256 inner;
  inner.update(std::span<const std::uint8_t>(block));
  inner.update(text);
  const Sha256Digest digest = inner.digest();
  for (std::uint8_t& byte : block)
    byte ^= 0x36 ^ 0x5c;
  Sha256 outer;
  outer.update(std::span<const std::uint8_t>(block));
  outer.update(std::span<const std::uint8_t>(digest));
  return outer.digest();
}

std::string canonical_query(const std::vector<std::pair<std::string, std::string>>& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query)
    encoded.emplace_back(uri_encode(name, false), uri_encode(value, false));
  std::ranges::sort(encoded);  // ASCII only by now: the sign of char makes no difference
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text += name + "=" + value;
  }
  return text;
}

std::string signed_headers(const SigningRequest& request) {
  std::string text;
  for (const auto& [name, value] : canonical_headers(request)) {
    if (!text.empty()) text += ';';
    text += name;
  }
  return text;
}

std::string canonical_request(const SigningRequest& request) {
  std::string text = fmt::format("{}\n{}\n{}\n", request.method, uri_encode(request.path, true),
                                 canonical_query(request.query));
  for (const auto& [name, value] : canonical_headers(request))
    text += name + ":" + value + "\n";
  return text + "\n" + signed_headers(request) + "\n" + request.payload_hash;
}

std::string amz_date(std::int64_t unix_s) {
  const std::chrono::sys_seconds time{std::chrono::seconds(unix_s)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string signing_scope(std::string_view date, std::string_view region,
                          std::string_view service) {
  return fmt::format("{}/{}/{}/aws4_request", date.substr(0, 8), region, service);
}

std::string string_to_sign(const SigningRequest& request, std::string_view date,
                           std::string_view scope) {
  return fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", date, scope,
                     sha256_hex(canonical_request(request)));
}

Sha256Digest signing_key(std::string_view secret, std::string_view day, std::string_view region,
                         std::string_view service) {
  const std::string first = fmt::format("AWS4{}", secret);
  const Sha256Digest of_day = hmac_sha256(bytes_of(first), day);
  const Sha256Digest of_region = hmac_sha256(of_day, region);
  const Sha256Digest of_service = hmac_sha256(of_region, service);
  return hmac_sha256(of_service, "aws4_request");
}

Sha256Digest Signer::derived(std::string_view secret, std::string_view day,
                             std::string_view region) {
  const std::scoped_lock lock(mutex_);
  if (last_.day != day || last_.region != region || last_.secret != secret)
    last_ = {std::string(day), std::string(region), std::string(secret),
             signing_key(secret, day, region, service_)};
  return last_.key;
}

std::string Signer::authorization(const SigningRequest& request, const Credentials& credentials,
                                  std::string_view region, std::string_view date) {
  const std::string scope = signing_scope(date, region, service_);
  const Sha256Digest key = derived(credentials.secret_key, date.substr(0, 8), region);
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                     credentials.access_key, scope, signed_headers(request),
                     hex(hmac_sha256(key, string_to_sign(request, date, scope))));
}

std::vector<std::string> Signer::sign(SigningRequest request, const Credentials& credentials,
                                      std::string_view region, std::int64_t unix_s) {
  const std::string date = amz_date(unix_s);
  std::vector<std::string> lines;
  const auto include = [&](const char* name, const std::string& value) {
    request.headers.emplace_back(name, value);
    lines.push_back(fmt::format("{}: {}", name, value));
  };
  include("x-amz-content-sha256", request.payload_hash);
  include("x-amz-date", date);
  if (!credentials.session_token.empty())
    include("x-amz-security-token", credentials.session_token);
  lines.push_back("authorization: " + authorization(request, credentials, region, date));
  return lines;
}

}  // namespace sluice::storage
