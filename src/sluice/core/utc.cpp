// sluice/core/utc.cpp - gmtime and strftime.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/utc.h"

#include <array>

namespace sluice {

std::string utc_text(std::time_t moment, const char* format) {
  std::tm parts{};
  gmtime_r(&moment, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::string utc_now(const char* format) {
  return utc_text(std::time(nullptr), format);
}

}  // namespace sluice
