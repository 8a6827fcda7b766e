// sluice/measure/worker/reply.h - fields of a worker's answer: present, of the right type and in
// range, or an error that says which is not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sluice::measure {

inline constexpr std::int64_t kLongestNs = 1'000'000'000'000'000;  // eleven days

/// One answer and the step it belongs to, for errors such as "measure: cpu_ns is -1; expected ...".
class Reply {
 public:
  Reply(const char* step, const Json& fields) : step_(step), fields_(fields) {}

  /// A missing field takes `fallback`, or is an error where there is none.
  [[nodiscard]] Result<std::int64_t> integer(
      const char* key, std::int64_t low,
      std::int64_t high = std::numeric_limits<std::int64_t>::max(),
      std::optional<std::int64_t> fallback = std::nullopt) const;
  [[nodiscard]] Result<double> number(const char* key, double fallback) const;  // not negative
  [[nodiscard]] Result<bool> boolean(const char* key, bool fallback) const;
  /// At most 1000 bytes: it ends up in the result file.
  [[nodiscard]] Result<std::string> text(const char* key,
                                         std::optional<std::string> fallback = std::nullopt) const;
  /// At least one sample, each from 1 ns to `kLongestNs`.
  [[nodiscard]] Result<std::vector<std::int64_t>> samples(const char* key) const;
  /// Null when missing.
  [[nodiscard]] const Json& field(const char* key) const;

  [[nodiscard]] Error wrong(const char* key, const std::string& accepted) const;

 private:
  const char* step_;
  const Json& fields_;
};

}  // namespace sluice::measure
