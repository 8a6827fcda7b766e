// sluice/report/paint.h - ANSI colours for terminal tables, when they are wanted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

namespace sluice::report {

inline constexpr const char* kBold = "1";
inline constexpr const char* kDim = "2";
inline constexpr const char* kRed = "31";
inline constexpr const char* kGreen = "32";
inline constexpr const char* kYellow = "33";

/// paint(kRed, text): `text` in that colour, or as it is when colours are off.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  [[nodiscard]] std::string operator()(const char* code, const std::string& text) const {
    return on_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

 private:
  bool on_;
};

}  // namespace sluice::report
