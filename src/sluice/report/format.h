// sluice/report/format.h - numbers, units and text widths as people read them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::report {

inline constexpr std::string_view kNone = "–";  // where there is no number

/// "18,250", "871.2", "0.01234": `digits` significant digits; scientific beyond 1e15 and below
/// 1e-4.
std::string significant(double value, int digits);
/// "12,345".
std::string integer(std::int64_t value);
/// "1.2 %" for 0.012; two significant digits.
std::string percent(double fraction);
/// "4.3 MiB".
std::string bytes(double count);

/// How the numbers of one row are shown: seconds as ms or µs, large rates in thousands or millions.
class Scale {
 public:
  /// `reference` is the number that gets four significant digits: the median.
  Scale(double reference, const std::string& unit);
  /// As precise as the reference, without the unit.
  [[nodiscard]] std::string number(double value) const;
  /// Two significant digits: for a standard deviation.
  [[nodiscard]] std::string spread(double value) const;
  [[nodiscard]] const std::string& unit() const { return unit_; }

 private:
  double factor_ = 1;
  double step_ = 0;   // the last digit that is shown, when above 1
  int decimals_ = 0;  // -1: scientific
  std::string unit_;
};

/// Columns that UTF-8 text takes in a terminal: combining marks none, CJK and emoji two.
std::size_t display_width(std::string_view text);
/// `text` in at most `width` columns, the middle replaced by "…": both ends of a case name matter.
std::string clip(std::string_view text, std::size_t width);

}  // namespace sluice::report
