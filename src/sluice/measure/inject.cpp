// sluice/measure/inject.cpp - reads the hook once and waits without sleeping.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/inject.h"

#include "sluice/config/units.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cstdlib>

namespace sluice::measure {
namespace {

constexpr double kMostShare = 10;

}  // namespace

Result<double> parse_slowdown(std::string_view text) {
  const auto share = config::parse_share(text);
  if (share && *share >= 0 && *share <= kMostShare) return *share;
  return Error{Errc::usage,
               fmt::format("{}={}: expected a share from 0% to 1000%, such as 10% or 0.1",
                           kInjectVariable, printable(text))};
}

Result<double> injected_slowdown() {
  static const Result<double> share = []() -> Result<double> {
    const char* text = std::getenv(kInjectVariable);
    if (text == nullptr || *text == '\0') return 0.0;
    return parse_slowdown(text);
  }();
  return share;
}

Result<double> injected_slowdown(const char* variable, const std::string& case_name) {
  if (variable == nullptr || *variable == '\0') return 0.0;
  const std::string text = variable;
  const std::size_t equals = text.rfind('=');
  const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  char* end = nullptr;
  const double percent = std::strtod(number.c_str(), &end);
  if (end == number.c_str() || std::string_view(end) != "%" || !(percent >= 0 && percent <= 1000)) {
    return Error{
        Errc::usage,
        fmt::format("{}={}: expected [CASE=]PERCENT% such as 15% or decode/jpeg/threads=1=15%",
                    kInjectVariable, printable(text))};
  }
  if (equals != std::string::npos && text.substr(0, equals) != case_name) return 0.0;
  if (equals == std::string::npos && case_name.starts_with("canary-")) return 0.0;
  return percent / 100;
}

void stretch(Clock& clock, std::int64_t start_ns, double share) {
  if (share <= 0) return;
  const std::int64_t taken_ns = clock.now_ns() - start_ns;
  const auto extra_ns = static_cast<std::int64_t>(static_cast<double>(taken_ns) * share);
  const std::int64_t end_ns = start_ns + taken_ns + extra_ns;
  while (clock.now_ns() < end_ns) {
  }
}

}  // namespace sluice::measure
