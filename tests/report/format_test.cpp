// tests/report/format_test.cpp - numbers, units, widths and shell words.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/format.h"

#include "sluice/report/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::report::format_test {
namespace {

TEST(FormatTest, SignificantDigits) {
  EXPECT_EQ(significant(18253.7, 4), "18,250");
  EXPECT_EQ(significant(871.234, 4), "871.2");
  EXPECT_EQ(significant(0.0123456, 4), "0.01235");
  EXPECT_EQ(significant(999.96, 4), "1,000");
  EXPECT_EQ(significant(0.0999999, 2), "0.10");
  EXPECT_EQ(significant(-1234567, 4), "-1,235,000");
  EXPECT_EQ(significant(0, 4), "0");
  EXPECT_EQ(significant(1.5e20, 3), "1.50e+20");
  EXPECT_EQ(significant(1.5e-7, 2), "1.5e-07");
  EXPECT_EQ(significant(std::nan(""), 4), "–");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity(), 4), "–");
}

TEST(FormatTest, PercentAndBytes) {
  EXPECT_EQ(percent(0.0123), "1.2 %");
  EXPECT_EQ(percent(0.181), "18 %");
  EXPECT_EQ(percent(std::nan("")), "–");
  EXPECT_EQ(bytes(512), "512.0 B");
  EXPECT_EQ(bytes(4517392), "4.31 MiB");
  EXPECT_EQ(bytes(16619343872), "15.5 GiB");
}

TEST(FormatTest, AScaleFitsItsReference) {
  const Scale rate(871.2, "img/s");
  EXPECT_EQ(rate.number(871.2), "871.2");
  EXPECT_EQ(rate.number(1175.34), "1,175.3");
  EXPECT_EQ(rate.spread(14.44), "14");
  EXPECT_EQ(rate.unit(), "img/s");
  const Scale time(0.0234, "s");
  EXPECT_EQ(time.number(0.0234), "23.40");
  EXPECT_EQ(time.unit(), "ms");
  EXPECT_EQ(Scale(2.5e-6, "s").unit(), "µs");
  EXPECT_EQ(Scale(3e-10, "s").unit(), "ns");
  EXPECT_EQ(Scale(3.2e7, "ops/s").unit(), "M ops/s");
  EXPECT_EQ(Scale(3.2e7, "ops/s").number(3.2e7), "32.00");
  EXPECT_EQ(Scale(34044, "img/s").number(33307), "33,310");
  EXPECT_EQ(Scale(0, "img/s").number(0), "0");
  EXPECT_EQ(Scale(1.7e308, "img/s").number(1.7e308), "1.700e+308");
  EXPECT_EQ(Scale(std::nan(""), "img/s").number(3), "3");
}

TEST(FormatTest, WidthsCountColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("± µ…"), 4U);
  EXPECT_EQ(display_width("解码"), 4U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);  // a combining accent
  EXPECT_EQ(display_width("\xff\xfe"), 2U);   // bytes that are no UTF-8
  EXPECT_EQ(display_width("\xf0\x9f"), 2U);   // cut short
}

TEST(FormatTest, ClippingKeepsBothEnds) {
  EXPECT_EQ(clip("short", 10), "short");
  EXPECT_EQ(clip("decode/jpeg/threads=16", 11), "decod…ds=16");
  EXPECT_EQ(clip("解码解码解码", 7), "解…码");
  EXPECT_EQ(clip("abc", 1), "…");
  EXPECT_EQ(clip("abc", 0), "");
}

TEST(ShellCommandTest, WordsSurviveAShell) {
  EXPECT_EQ(shell_command({"sluice", "quick", "--out=a/b"}), "sluice quick --out=a/b");
  EXPECT_EQ(shell_command({"a b", "it's", ""}), R"('a b' 'it'\''s' '')");
  EXPECT_EQ(shell_command({"$HOME;`x`"}), "'$HOME;`x`'");
  EXPECT_EQ(shell_command({"a\nb'\xff"}), R"($'a\x0ab\x27\xff')");
  EXPECT_EQ(shell_command({"解码"}), "'解码'");
  EXPECT_EQ(shell_command({}), "");
}

}  // namespace
}  // namespace sluice::report::format_test
