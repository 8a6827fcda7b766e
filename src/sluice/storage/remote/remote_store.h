// sluice/storage/remote/remote_store.h - what S3 and GCS have in common: retries, resume, hedging,
// checks, counters.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"
#include "sluice/storage/remote/http.h"
#include "sluice/storage/remote/retry.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::storage {

/// One page of a listing. Keys are relative to the root of the store.
struct ListPage {
  std::vector<Object> objects;
  std::string next{};  // token of the next page; empty: this was the last
};

/// What an answer without success means.
struct Refusal {
  std::optional<RetryCause> retry{};  // nothing: final
  Errc code = Errc::io;               // when it is final, or attempts have run out
  std::string cause{};                // "access denied (403 AccessDenied)"; no newline, no secret
};

/// How requests of one protocol look and what the answers mean. Thread-safe. Requests are made anew
/// for every attempt: signed with the time, keys and region of that moment.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// "s3://bucket/prefix".
  [[nodiscard]] virtual std::string name() const = 0;
  /// The name of an object in messages: "s3://bucket/prefix/key".
  [[nodiscard]] virtual std::string name(std::string_view key) const = 0;

  /// With a Range header for exactly these bytes, and the condition of `object.version` if any.
  virtual Result<HttpRequest> get(const Object& object, std::uint64_t offset, std::size_t size) = 0;
  virtual Result<HttpRequest> stat(std::string_view key) = 0;
  virtual Result<HttpRequest> list(std::string_view prefix, std::string_view token) = 0;

  /// The version that the head of a GET answer names; empty: none.
  [[nodiscard]] virtual std::string version_of(const HttpHead& head) const = 0;
  /// Size and version out of a 200 answer to stat(). An Error is retried as RetryCause::protocol.
  virtual Result<Object> parse_stat(std::string_view key, const HttpReply& reply) = 0;
  virtual Result<ListPage> parse_list(const HttpReply& reply) = 0;

  /// Any status but 200 and 206. Also the place to learn from it: the server's clock, region, that
  /// credentials are stale. `body` is its first 64 KiB.
  virtual Refusal refuse(const HttpHead& head, std::string_view body) = 0;
};

struct RemoteOptions {
  HttpOptions http{};
  RetryPolicy retry{};
  bool hedge = true;
  std::uint64_t seed = 0;  // of the jitter
};

/// Errors name the object, the cause and the number of attempts.
Result<std::unique_ptr<ObjectStore>> open_remote(std::unique_ptr<Dialect> dialect,
                                                 const RemoteOptions& options);

}  // namespace sluice::storage
