// sluice/storage/credentials/service.h - a service that gives out credentials: asked a few times,
// and never quoted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/storage/credentials/chain.h"
#include "sluice/storage/remote/http.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::storage {

/// Errors name the service and its status, never what it sent or what was sent to it.
class CredentialService {
 public:
  /// `limit_s` holds for connecting, for the first byte and between bytes.
  static Result<CredentialService> open(std::string name, const Environment& environment,
                                        double limit_s);

  /// One attempt; an answer of any status.
  [[nodiscard]] Result<HttpReply> once(const HttpRequest& request) const;
  /// An answer below 500, after up to three attempts.
  [[nodiscard]] Result<HttpReply> ask(const HttpRequest& request) const;
  /// An object; anything else is nonsense().
  [[nodiscard]] Result<Json> parse(std::string_view body) const;

  /// `code` is what the service calls the reason.
  [[nodiscard]] Error refused(const HttpReply& reply, std::string_view code = {}) const;
  [[nodiscard]] Error nonsense() const;

 private:
  CredentialService(std::shared_ptr<HttpClient> client, std::string name, double limit_s);

  std::shared_ptr<HttpClient> client_;
  std::string name_;
  double limit_s_;
};

/// The one line of a file, for a header or form; `what` begins the error.
Result<std::string> read_token(const std::string& path, std::string_view what);
/// A member that is text; empty when it is not there or no text.
std::string text_of(const Json& object, const char* key);
/// "2026-11-15T12:00:00Z", with or without a fraction of a second.
std::optional<std::chrono::system_clock::time_point> parse_utc(std::string_view text);

}  // namespace sluice::storage
