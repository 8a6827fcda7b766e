// sluice/config/units.cpp - parses numbers with units without locale and without losing bytes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/units.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace sluice::config {
namespace {

Error not_a(std::string_view text, std::string_view what) {
  constexpr std::size_t kShown = 80;
  return {Errc::usage, fmt::format("'{}' is not {}", printable(text.substr(0, kShown)), what)};
}

/// The whole of `text` as T; from_chars accepts no '+', people do.
template <class T>
std::optional<T> whole(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> finite(std::string_view text) {
  const auto value = whole<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

struct Split {
  std::string_view number;
  std::string_view unit;
};

/// "1.5GiB" and "1.5 GiB": the unit is the letters (and µ, %) at the end.
Split split_unit(std::string_view text) {
  const auto last_digit = text.find_last_of("0123456789.");
  if (last_digit == std::string_view::npos) return {text, {}};
  std::string_view unit = text.substr(last_digit + 1);
  if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return {text.substr(0, last_digit + 1), unit};
}

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 8> kTimeUnits{{{"", 1},
                                          {"s", 1},
                                          {"ms", 1e-3},
                                          {"us", 1e-6},
                                          {"µs", 1e-6},
                                          {"ns", 1e-9},
                                          {"min", 60},
                                          {"h", 3600}}};
constexpr std::array<Unit, 11> kByteUnits{{{"", 1},
                                           {"B", 1},
                                           {"kB", 1e3},
                                           {"KB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12},
                                           {"KiB", 0x1p10},
                                           {"MiB", 0x1p20},
                                           {"GiB", 0x1p30},
                                           {"TiB", 0x1p40}}};

template <std::size_t N>
const Unit* find_unit(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

}  // namespace

Result<double> parse_number(std::string_view text) {
  const auto value = finite(text);
  if (!value) return not_a(text, "a number");
  return *value;
}

Result<std::int64_t> parse_integer(std::string_view text) {
  const auto value = whole<std::int64_t>(text);
  if (!value) return not_a(text, "a whole number");
  return *value;
}

Result<std::uint64_t> parse_unsigned(std::string_view text) {
  const auto value = whole<std::uint64_t>(text);
  if (!value) return not_a(text, "a whole number of at least 0");
  return *value;
}

Result<double> parse_seconds(std::string_view text) {
  const Split split = split_unit(text);
  const Unit* unit = find_unit(kTimeUnits, split.unit);
  const auto value = finite(split.number);
  if (unit == nullptr || !value || *value < 0 || !std::isfinite(*value * unit->factor)) {
    return not_a(text, "a duration (a number with ns, us, ms, s, min or h)");
  }
  // Division where the factor is below 1: 250 / 1e3 is the nearest number to 0.25, 250 * 1e-3 need
  // not be.
  return unit->factor < 1 ? *value / std::round(1 / unit->factor) : *value * unit->factor;
}

Result<double> parse_share(std::string_view text) {
  const Split split = split_unit(text);
  const auto value = finite(split.number);
  if (!value || (!split.unit.empty() && split.unit != "%")) {
    return not_a(text, "a share (5% or 0.05)");
  }
  return split.unit.empty() ? *value : *value / 100;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kWhat =
      "a size in bytes (a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB)";
  const Split split = split_unit(text);
  const Unit* unit = find_unit(kByteUnits, split.unit);
  if (unit == nullptr) return not_a(text, kWhat);
  if (unit->factor == 1) {  // no detour through double, which has only 53 bits
    const auto exact = whole<std::uint64_t>(split.number);
    if (!exact) return not_a(text, kWhat);
    return *exact;
  }
  const auto value = finite(split.number);
  if (!value || *value < 0) return not_a(text, kWhat);
  const double bytes = *value * unit->factor;
  if (bytes >= 0x1p63) return not_a(text, kWhat);
  // Decimal fractions are inexact ("1.1kB"): what is within a thousandth of a byte is meant.
  const double rounded = std::round(bytes);
  if (std::abs(bytes - rounded) > 1e-3) return not_a(text, "a whole number of bytes");
  return static_cast<std::uint64_t>(rounded);
}

}  // namespace sluice::config
