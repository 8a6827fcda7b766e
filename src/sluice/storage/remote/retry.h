// sluice/storage/remote/retry.h - when a request is sent again, and how long to wait before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/core/rng.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::storage {

/// What went wrong with one attempt. The names are those of the counters.
enum class RetryCause : std::uint8_t {
  connect,      // no connection: name, refusal, limit
  timeout,      // no first byte, or a stall
  reset,        // the connection broke
  truncated,    // fewer bytes than declared
  throttled,    // 429, or 503 SlowDown
  server,       // 500, 502, 503, 504, 408
  mismatch,     // another range, length or version than asked for
  skew,         // our clock is not the server's
  redirect,     // another region or host
  credentials,  // expired: asked for new ones
  protocol,     // an answer that makes no sense
};
inline constexpr std::size_t kRetryCauses = 11;
std::string_view to_string(RetryCause cause);

struct RetryPolicy {
  int max_attempts = 8;          // in all, the first included
  double base_s = 0.05;          // the longest wait after the first failure
  double throttle_base_s = 0.5;  // the same when the server asks for less
  double cap_s = 20;             // the longest wait at all
};

/// AWS_MAX_ATTEMPTS: 1 to 100; nothing when `text` is no such number.
std::optional<int> parse_attempts(std::string_view text);

/// Full jitter: uniform in [0, min(cap, base * 2^(failures - 1))), `failures` >= 1 counting those
/// without progress between. `retry_after_s` is what the server asked for (below 0: nothing): the
/// wait is at least that, as far as the cap allows. Redirects, new credentials and a corrected
/// clock wait for nothing.
double retry_delay_s(const RetryPolicy& policy, RetryCause cause, int failures,
                     double retry_after_s, Rng& rng);

/// Retry-After: seconds, or a date seen from `now_unix_s`; below 0 when it is neither.
double parse_retry_after(std::string_view text, std::int64_t now_unix_s);

/// A bucket of tokens shared by all requests of a store: during an outage the retries of many
/// threads end early and are not added to the load. Thread-safe.
class RetryBudget {
 public:
  static constexpr std::int64_t kCapacity = 5000;
  static constexpr std::int64_t kRetryCost = 5;
  static constexpr std::int64_t kTimeoutCost = 10;

  /// False: nothing left, give up.
  bool spend(RetryCause cause);
  /// A request went well; `spent` is what its retries cost.
  void earn(std::int64_t spent);
  static std::int64_t cost(RetryCause cause);
  [[nodiscard]] std::int64_t left() const { return tokens_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> tokens_{kCapacity};
};

}  // namespace sluice::storage
