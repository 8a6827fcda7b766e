// sluice/env/known.h - Known<T>: a fact about the machine, or the reason why it is not known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace sluice::env {

/// Exactly one of the two is set; a default-constructed one is unknown because nobody looked.
template <class T>
struct Known {
  std::optional<T> value;
  std::string reason = "not collected";

  Known() = default;
  // Implicit, so that a fact is assigned like a plain value.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Known(T fact) : value(std::move(fact)), reason() {}
  static Known unknown(std::string why) {
    Known result;
    result.reason = std::move(why);
    return result;
  }

  [[nodiscard]] bool has_value() const { return value.has_value(); }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *value; }
  const T* operator->() const { return &*value; }
  [[nodiscard]] T value_or(T fallback) const { return value ? *value : std::move(fallback); }
  friend bool operator==(const Known& a, const Known& b) = default;
};

}  // namespace sluice::env
