// sluice/core/log.h - diagnostics on stderr; results never go here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "sluice/core/result.h"

namespace sluice::log {

enum class Level { debug, info, warn, error, off };

/// Accepts debug, info, warn, error, off.
Result<Level> parse_level(std::string_view name);
/// Called once by cli; before that the level is `warn`. Colour only on a terminal and without NO_COLOR.
void set_level(Level level);
Level level();

/// Writes one line. Thread-safe; a progress bar on the same terminal is cleared first and drawn again.
void write(Level level, std::string_view message);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::debug) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::info) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::warn) write(Level::warn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::error) write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sluice::log
