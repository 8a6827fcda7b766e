// sluice/peers/timed_command.cpp - sh -c through run_child; how failures read.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/timed_command.h"

#include "sluice/core/process/child.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

namespace sluice::peers {
namespace {

constexpr int kCannotStart = 126;
constexpr int kNotFound = 127;
constexpr std::size_t kShown = 200;
/// Helpers of a runtime (Python's resource tracker) leave a moment after their program.
constexpr double kGraceS = 1;

std::string_view bare_last_line(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t end = text.find_last_not_of(kBlank);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t start = text.find_last_of("\r\n");
  return start == std::string_view::npos ? text : text.substr(start + 1);
}

std::string called(const TimedCommand& command) {
  return fmt::format("{} ({})", command.name, printable(command.command.substr(0, kShown)));
}

struct PrintedNumber {
  double value = 0;
  std::string_view unit;  // right behind it
};

/// The number at the front of `word`, if what follows is a unit and no further digit.
std::optional<PrintedNumber> number_of(std::string_view word) {
  if (!word.empty() && word[0] == '+') word.remove_prefix(1);
  const bool starts = !word.empty() && word.find_first_of("0123456789") <= 2 &&
                      (word[0] == '-' || word[0] == '.' || (word[0] >= '0' && word[0] <= '9'));
  if (!starts) return std::nullopt;
  double value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc{} || !std::isfinite(value)) return std::nullopt;
  const std::string_view unit = word.substr(static_cast<std::size_t>(end - word.data()));
  if (unit.find_first_of("0123456789.-") != std::string_view::npos) return std::nullopt;
  return PrintedNumber{value, unit};
}

/// The last number of the last line, with the word behind it where no unit stands right there.
std::optional<PrintedNumber> last_printed(std::string_view printed) {
  constexpr std::string_view kBetween = " \t,;:=()[]{}<>\"'|";
  std::string_view line = bare_last_line(printed);
  std::string_view behind;
  while (!line.empty()) {
    const std::size_t end = line.find_last_not_of(kBetween);
    if (end == std::string_view::npos) return std::nullopt;
    line = line.substr(0, end + 1);
    const std::size_t before = line.find_last_of(kBetween);
    const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view word = line.substr(start);
    if (auto found = number_of(word)) {
      if (found->unit.empty()) found->unit = behind;
      return found;
    }
    behind = word;
    line = line.substr(0, start);
  }
  return std::nullopt;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string last_line(std::string_view text) {
  return printable(bare_last_line(text).substr(0, kShown));
}

std::optional<double> last_number(std::string_view printed) {
  const auto found = last_printed(printed);
  return found ? std::optional(found->value) : std::nullopt;
}

std::optional<double> last_seconds(std::string_view printed) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1e-9},  {"us", 1e-6},   {"\u00b5s", 1e-6}, {"\u03bcs", 1e-6},
      {"ms", 1e-3},  {"s", 1},       {"sec", 1},        {"secs", 1},
      {"second", 1}, {"seconds", 1}, {"min", 60},       {"minutes", 60}};
  const auto found = last_printed(printed);
  if (!found) return std::nullopt;
  const std::string_view unit = found->unit.substr(0, found->unit.find('/'));  // ms/step
  for (const auto& [name, seconds] : kUnits)
    if (unit == name) return found->value * seconds;
  return std::nullopt;
}

Result<CommandRun> run_timed(const TimedCommand& command) {
  ChildOptions options;
  options.command = {"/bin/sh", "-c", command.command};
  options.environment = command.environment;
  options.folder = command.folder;
  options.stdout_apart = true;
  options.grace_s = kGraceS;
  options.timeout_s = command.timeout_s;
  options.cancel_fd = command.cancel_fd;
  const auto child = run_child(options);
  if (!child && child.error().code == Errc::timeout)
    return Error{Errc::timeout, fmt::format("{}: not finished within {:g} s; killed",
                                            called(command), command.timeout_s)};
  if (!child && child.error().code == Errc::interrupted)
    return Error{Errc::interrupted, fmt::format("interrupted: {} killed", called(command))};
  if (!child) return child.error();
  if (child->status == 0 && !child->survivors.empty())
    return Error{Errc::measurement,
                 fmt::format("{}: ended while {} it had started still ran: killed; a command must "
                             "wait for what it starts, or its time says nothing",
                             called(command), join(child->survivors))};
  if (child->status == 0)
    return CommandRun{static_cast<double>(child->wall_ns) * 1e-9, child->printed, child->user_s,
                      child->system_s};
  const std::string words = last_line(child->output.empty() ? child->printed : child->output);
  const std::string tail = words.empty() ? std::string() : ": " + words;
  if (child->status == kNotFound || child->status == kCannotStart)
    return Error{Errc::usage, fmt::format("{}: cannot be started (exit code {}){}", called(command),
                                          child->status, tail)};
  return Error{Errc::measurement, fmt::format("{}: ended with exit code {}; expected 0{}",
                                              called(command), child->status, tail)};
}

}  // namespace sluice::peers
