// sluice/core/log.cpp - levels, line format and the sink that lines go to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/log.h"

#include "sluice/core/text.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unistd.h>

namespace sluice::log {
namespace {

struct LevelName {
  Level level;
  std::string_view name;    // what the user writes
  std::string_view prefix;  // what a line starts with
  std::string_view colour;  // ANSI
};
constexpr std::array<LevelName, 5> kLevels{{{Level::debug, "debug", "debug", "\x1b[2m"},
                                            {Level::info, "info", "info", "\x1b[36m"},
                                            {Level::warn, "warn", "warning", "\x1b[33m"},
                                            {Level::error, "error", "error", "\x1b[31m"},
                                            {Level::off, "off", "", ""}}};

std::atomic<Level> current_level{Level::warn};

struct SinkState {
  std::mutex mutex;
  const void* owner = nullptr;
  Sink sink;
};

/// Never destroyed: threads may log while the program's statics go away.
SinkState& sink_state() {
  static auto* const state = new SinkState;
  return *state;
}

/// Set and not empty. Only cli's start-up changes the environment, before any thread exists.
bool has_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value != '\0';
}

}  // namespace

Result<Level> parse_level(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (lower == "critical") lower = "error";  // what other programs call the highest
  std::vector<std::string> names;
  for (const LevelName& entry : kLevels) {
    if (entry.name == lower || (!entry.prefix.empty() && entry.prefix == lower)) return entry.level;
    names.emplace_back(entry.name);
  }
  return Error{Errc::usage,
               fmt::format("log level '{}' is not one of {}", printable(name), join(names))};
}

void set_level(Level level) {
  current_level = level;
}
Level level() {
  return current_level;
}

void attach_sink(const void* owner, Sink sink) {
  SinkState& state = sink_state();
  const std::lock_guard lock(state.mutex);
  state.owner = owner;
  state.sink = std::move(sink);
}

void detach_sink(const void* owner) {
  SinkState& state = sink_state();
  const std::lock_guard lock(state.mutex);
  if (state.owner != owner) return;
  state.owner = nullptr;
  state.sink = nullptr;
}

std::string format_line(Level level, std::string_view message, bool colour) {
  const LevelName& entry = kLevels[static_cast<std::size_t>(level)];
  if (!colour) return fmt::format("{}: {}\n", entry.prefix, printable(message));
  return fmt::format("{}{}:\x1b[0m {}\n", entry.colour, entry.prefix, printable(message));
}

bool stderr_has_colour() {
  static const bool has_colour = [] {
    if (::isatty(STDERR_FILENO) == 0 || has_variable("NO_COLOR")) return false;
    const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
    return term != nullptr && std::string_view(term) != "dumb";
  }();
  return has_colour;
}

void write_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void write(Level level, std::string_view message) {
  if (level == Level::off || level < current_level.load()) return;
  const std::string line = format_line(level, message, stderr_has_colour());
  SinkState& state = sink_state();
  const std::lock_guard lock(state.mutex);
  if (state.sink) {
    state.sink(line);
  } else {
    write_stderr(line);
  }
}

}  // namespace sluice::log
