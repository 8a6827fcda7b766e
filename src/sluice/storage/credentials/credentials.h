// sluice/storage/credentials/credentials.h - who asks: keys for signed requests, and where they
// come from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <chrono>
#include <optional>
#include <string>

namespace sluice::storage {

/// None of the members may reach a log, an error or a result.
struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token{};                                    // empty: none
  std::optional<std::chrono::system_clock::time_point> expiry{};  // nothing: does not expire
};

/// Thread-safe. Anonymous access has no source at all (nullptr).
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  /// Fit for use now; fetched anew when about to expire. Asked before every request: cheap when
  /// nothing is to be done.
  virtual Result<Credentials> get() = 0;
  /// The server called these expired: new ones are asked for, if there can be any. True when
  /// another attempt may pass: there are others now, or these came a moment ago, so that the
  /// request may still have been made with those before.
  virtual bool refused(const Credentials& credentials) = 0;
};

}  // namespace sluice::storage
