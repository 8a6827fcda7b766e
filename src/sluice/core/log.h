// sluice/core/log.h - diagnostics on stderr; results never go here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::log {

enum class Level { debug, info, warn, error, off };

/// Accepts debug, info, warn, error, off.
Result<Level> parse_level(std::string_view name);
/// Called once by cli; before that the level is `warn`. Colour only on a terminal and without
/// NO_COLOR.
void set_level(Level level);
Level level();

/// Writes one line. Thread-safe; a progress bar on the same terminal is cleared first and drawn
/// again.
void write(Level level, std::string_view message);

/// Where finished lines go ("warning: text\n"); stderr when nothing is attached. A progress bar on
/// a terminal attaches itself, so that a line never lands in the middle of a bar; tests attach
/// their own. The latest owner wins; detaching somebody else's sink does nothing.
using Sink = std::function<void(std::string_view line)>;
void attach_sink(const void* owner, Sink sink);
void detach_sink(const void* owner);

/// One line with its newline; control characters in `message` are made visible.
std::string format_line(Level level, std::string_view message, bool colour);
/// A terminal on stderr, TERM that can, and no NO_COLOR.
bool stderr_has_colour();
/// All of `text` to stderr in one call where possible; what cannot be written is lost silently.
void write_stderr(std::string_view text);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::debug)
    write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
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
  if (level() <= Level::error)
    write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace sluice::log
