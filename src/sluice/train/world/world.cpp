// sluice/train/world/world.cpp - words that every kind of world has in common.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace sluice::train {

Result<std::string> World::share(std::string text) {
  if (rank() != 0) return hear();
  SLUICE_CHECK(tell(text));
  return text;
}

std::string line_of(const Error& error) {
  return fmt::format("{} {}", static_cast<int>(error.code), error.message);
}

Error error_of(const std::string& line) {
  const std::size_t space = line.find(' ');
  int code = static_cast<int>(Errc::measurement);
  std::from_chars(line.data(), line.data() + std::min(space, line.size()), code);
  return {static_cast<Errc>(code), space == std::string::npos ? line : line.substr(space + 1)};
}

std::string late_text(const std::vector<int>& late, int size, double timeout_s) {
  if (late.empty())
    return fmt::format("all {} ranks are there, and their sum did not end in {:g} s", size,
                       timeout_s);
  return fmt::format("rank {} of {} did not come to the end of its step within {:g} s",
                     fmt::join(late, ", "), size, timeout_s);
}

}  // namespace sluice::train
