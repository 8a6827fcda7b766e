// sluice/report/format.cpp - numbers, units and text widths as people read them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sluice::report {
namespace {

constexpr double kLargest = 1e15;
constexpr double kSmallest = 1e-4;

/// Decimal exponent of the first digit: 871 gives 2.
int exponent(double value) {
  return static_cast<int>(std::floor(std::log10(std::fabs(value))));
}

/// "12345.6" to "12,345.6".
std::string with_commas(const std::string& text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = i > 0 && text[i - 1] != '-';
    if (i < point && digit && (point - i) % 3 == 0) out += ',';
    out += text[i];
  }
  return out;
}

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  if (zero && text.starts_with('-')) text.erase(0, 1);
  return with_commas(text);
}

bool plain(double value) {
  const double size = std::fabs(value);
  return size == 0 || (size >= kSmallest && size < kLargest);
}

std::string scientific(double value, int digits) {
  return fmt::format("{:.{}e}", value, std::max(digits - 1, 0));
}

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 1;
};

/// Lenient: a byte that starts no valid sequence is one column of its own.
CodePoint code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint32_t lead = byte(0);
  const std::size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length == 1 || text.size() < length) return {lead, 1};
  std::uint32_t value = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {lead, 1};
    value = (value << 6U) | (byte(i) & 0x3fU);
  }
  return {value, length};
}

struct CodeRange {
  std::uint32_t first, last;
};

bool inside(std::uint32_t value, const CodeRange* ranges, std::size_t n) {
  return std::any_of(ranges, ranges + n,
                     [&](const CodeRange& r) { return value >= r.first && value <= r.last; });
}

/// The blocks that matter in practice; terminals disagree about the rest.
std::size_t columns(std::uint32_t value) {
  static constexpr CodeRange kNoWidth[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                           {0x610, 0x61a},   {0x64b, 0x65f},   {0x1ab0, 0x1aff},
                                           {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
                                           {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
  static constexpr CodeRange kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
                                        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
                                        {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe4f},
                                        {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                                        {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  if (inside(value, kNoWidth, std::size(kNoWidth))) return 0;
  return inside(value, kWide, std::size(kWide)) ? 2 : 1;
}

}  // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kNone);
  if (!plain(value)) return scientific(value, digits);
  if (value == 0) return "0";
  int first = exponent(value);
  // 999.96 has four digits only after rounding has made it 1000.
  const double unit = std::pow(10.0, first - digits + 1);
  value = std::round(value / unit) * unit;
  first = exponent(value);
  return fixed(value, std::max(digits - 1 - first, 0));
}

std::string integer(std::int64_t value) {
  return with_commas(std::to_string(value));
}

std::string percent(double fraction) {
  if (!std::isfinite(fraction)) return std::string(kNone);
  return significant(100 * fraction, 2) + " %";
}

std::string bytes(double count) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (std::fabs(count) >= 1024 && unit + 1 < std::size(kUnits)) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", significant(count, unit == 0 ? 4 : 3), kUnits[unit]);
}

Scale::Scale(double reference, const std::string& unit) : unit_(unit) {
  const double size = std::fabs(reference);
  if (!std::isfinite(reference) || size == 0) return;
  if (unit == "s") {
    static constexpr std::pair<double, const char*> kTimes[] = {
        {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
    for (const auto& [factor, name] : kTimes) {
      factor_ = factor;
      unit_ = name;
      if (size >= factor) break;
    }
  } else if (size >= 1e6 && size < kLargest) {
    factor_ = size >= 1e9 ? 1e9 : 1e6;
    unit_ = (size >= 1e9 ? "G " : "M ") + unit;
  }
  constexpr int kDigits = 4;
  if (!plain(size / factor_)) {
    decimals_ = -1;
    return;
  }
  const int first = exponent(size / factor_);
  decimals_ = std::max(kDigits - 1 - first, 0);
  if (first >= kDigits) step_ = std::pow(10.0, first - kDigits + 1);
}

std::string Scale::number(double value) const {
  if (!std::isfinite(value)) return std::string(kNone);
  value /= factor_;
  if (decimals_ < 0 || !plain(value)) return scientific(value, 4);
  if (step_ > 0) value = std::round(value / step_) * step_;
  return fixed(value, decimals_);
}

std::string Scale::spread(double value) const {
  return significant(value / factor_, 2);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point(text.substr(i));
    width += columns(point.value);
    i += point.length;
  }
  return width;
}

std::string clip(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::vector<CodePoint> points;
  for (std::size_t i = 0; i < text.size(); i += points.back().length) {
    points.push_back(code_point(text.substr(i)));
  }
  const std::size_t head_width = (width - 1) / 2;
  const std::size_t tail_width = width - 1 - head_width;
  std::size_t head = 0;  // bytes
  std::size_t used = 0;
  for (const auto& point : points) {
    if (used + columns(point.value) > head_width) break;
    used += columns(point.value);
    head += point.length;
  }
  std::size_t tail = 0;
  used = 0;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (used + columns(point->value) > tail_width) break;
    used += columns(point->value);
    tail += point->length;
  }
  return fmt::format("{}…{}", text.substr(0, head), text.substr(text.size() - tail));
}

}  // namespace sluice::report
