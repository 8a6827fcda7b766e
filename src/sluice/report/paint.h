// sluice/report/paint.h - ANSI colours for terminal tables, when they are wanted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/gate_report.h"

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

/// The same for every gate: green passes, red fails or says nothing, yellow leaves it open.
inline const char* colour_of(gate::GateStatus status) {
  switch (status) {
    case gate::GateStatus::pass:
    case gate::GateStatus::improved:
      return kGreen;
    case gate::GateStatus::fail:
    case gate::GateStatus::invalid:
      return kRed;
    case gate::GateStatus::warn:
    case gate::GateStatus::inconclusive:
    case gate::GateStatus::skip:
      break;
  }
  return kYellow;
}

}  // namespace sluice::report
