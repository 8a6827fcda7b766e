// sluice/storage/remote/retry.cpp - full jitter and a budget for all retries together.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/retry.h"

#include "sluice/storage/remote/http.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sluice::storage {

std::string_view to_string(RetryCause cause) {
  switch (cause) {
    case RetryCause::connect:
      return "connect";
    case RetryCause::timeout:
      return "timeout";
    case RetryCause::reset:
      return "reset";
    case RetryCause::truncated:
      return "truncated";
    case RetryCause::throttled:
      return "throttled";
    case RetryCause::server:
      return "server";
    case RetryCause::mismatch:
      return "mismatch";
    case RetryCause::skew:
      return "skew";
    case RetryCause::redirect:
      return "redirect";
    case RetryCause::credentials:
      return "credentials";
    case RetryCause::protocol:
      return "protocol";
  }
  return "unknown";
}

namespace {

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<int> parse_attempts(std::string_view text) {
  const auto value = parse_whole(text);
  if (!value || *value < 1 || *value > 100) return std::nullopt;
  return static_cast<int>(*value);
}

double retry_delay_s(const RetryPolicy& policy, RetryCause cause, int failures,
                     double retry_after_s, Rng& rng) {
  const bool learned = cause == RetryCause::skew || cause == RetryCause::redirect ||
                       cause == RetryCause::credentials;
  if (learned || failures < 1) return 0;
  const double base = cause == RetryCause::throttled ? policy.throttle_base_s : policy.base_s;
  const double limit = std::min(policy.cap_s, std::ldexp(base, std::min(failures - 1, 60)));
  const double delay = rng.uniform() * limit;
  return std::max(delay, std::min(retry_after_s, policy.cap_s));
}

double parse_retry_after(std::string_view text, std::int64_t now_unix_s) {
  if (const auto seconds = parse_whole(text)) return static_cast<double>(*seconds);
  if (const auto date = parse_http_date(text))
    return static_cast<double>(std::max<std::int64_t>(0, *date - now_unix_s));
  return -1;
}

std::int64_t RetryBudget::cost(RetryCause cause) {
  return cause == RetryCause::timeout || cause == RetryCause::connect ? kTimeoutCost : kRetryCost;
}

bool RetryBudget::spend(RetryCause cause) {
  const std::int64_t price = cost(cause);
  std::int64_t left = tokens_.load(std::memory_order_relaxed);
  do {
    if (left < price) return false;
  } while (!tokens_.compare_exchange_weak(left, left - price, std::memory_order_relaxed));
  return true;
}

void RetryBudget::earn(std::int64_t spent) {
  std::int64_t left = tokens_.load(std::memory_order_relaxed);
  std::int64_t more = 0;
  do {
    if (left >= kCapacity) return;  // the usual case: one load
    more = std::min(kCapacity, left + std::max<std::int64_t>(spent, 1));
  } while (!tokens_.compare_exchange_weak(left, more, std::memory_order_relaxed));
}

}  // namespace sluice::storage
