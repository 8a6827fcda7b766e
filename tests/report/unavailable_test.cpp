// tests/report/unavailable_test.cpp - figures that a run has not are one line, by reason.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/findings.h"

#include <gtest/gtest.h>

namespace sluice::report::unavailable_test {
namespace {

TEST(UnavailableTest, TitlesShareTheirReason) {
  Unavailable absent;
  EXPECT_EQ(absent.cell("rate", {12.34, ""}, "{:.1f} MB/s"), "12.3 MB/s");
  EXPECT_EQ(absent.text(), "");
  EXPECT_EQ(absent.cell("idle VRAM", {std::nullopt, "no GPU"}, "{:.0f}"), "n/a");
  EXPECT_EQ(absent.cell("download", {std::nullopt, "local files"}, "{:.0f}"), "n/a");
  EXPECT_EQ(absent.cell("GPU utilization", {std::nullopt, "no GPU"}, "{:.0f}"), "n/a");
  EXPECT_EQ(absent.text(),
            "  not available here: idle VRAM, GPU utilization (no GPU); download (local files)\n");
}

}  // namespace
}  // namespace sluice::report::unavailable_test
