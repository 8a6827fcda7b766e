// tests/report/compare_table_test.cpp - what a reader of `sluice compare` sees.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/compare_table.h"

#include "sluice/core/text.h"
#include "sluice/report/format.h"

#include "tests/gate/make_results.h"

namespace sluice::report::compare_table_test {
namespace {

using gate::file_of;
using gate::row_of;
using gate::row_with;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<double> kSteady{1000, 1010, 990, 1005, 995};
const std::vector<double> kSlow{800, 808, 792, 804, 796};

gate::Comparison sample() {
  auto base = file_of({row_of("decode/jpeg/threads=1", kSteady), row_of("resize", kSteady),
                       row_of("few", {1, 2}), row_of("gone", kSteady), row_of("broken", kSteady)});
  base.canary = {row_of("canary/gemm", kSteady)};
  auto candidate = file_of({row_of("decode/jpeg/threads=1", kSlow), row_of("resize", kSteady),
                            row_of("few", {1, 2}),
                            row_with("broken", measure::RowStatus::failed, "killed by signal 9")});
  candidate.canary = base.canary;
  candidate.machine_profile = "cpu-other\x1b[31m";
  return *gate::compare(base, candidate);
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : split(text, '\n')) {
    if (line.find(part) != std::string::npos) return line;
  }
  return {};
}

TEST(CompareTable, ShowsEveryRowWithItsVerdictOrReason) {
  // wide enough for every name
  const std::string text = compare_table(sample(), {.width = 120});
  const std::string head = line_with(text, "library");
  for (const char* title :
       {"case", "base", "candidate", "ratio [95 %]", "p Holm", "MDE", "verdict"}) {
    EXPECT_THAT(head, HasSubstr(title));
  }
  const std::string decode = line_with(text, "decode/jpeg/threads=1");
  EXPECT_THAT(decode, HasSubstr("img/s"));
  EXPECT_THAT(decode, HasSubstr("0.800 [0.7"));
  EXPECT_THAT(decode, HasSubstr("<0.001"));
  EXPECT_THAT(decode, HasSubstr("FAIL"));
  EXPECT_THAT(line_with(text, "resize"), HasSubstr("PASS"));
  EXPECT_THAT(line_with(text, "few"), HasSubstr("INCONCLUSIVE"));
  EXPECT_THAT(text, HasSubstr("at least 3 on each side needed"));
  EXPECT_THAT(line_with(text, "gone"), HasSubstr("only in base"));
  EXPECT_THAT(line_with(text, "broken"), HasSubstr("failed in candidate: killed by signal 9"));
  EXPECT_THAT(line_with(text, "canary/gemm"), HasSubstr("1.000"));
  EXPECT_THAT(text, HasSubstr("warning: different machine profile"));
  EXPECT_EQ(text.substr(text.size() - sample().summary.size() - 1), sample().summary + "\n");
}

TEST(CompareTable, ColumnsAreAlignedAndWithinTheWidth) {
  const std::string text = compare_table(sample(), {.width = 105});
  const std::size_t place = line_with(text, "p Holm").find("verdict");
  for (const char* name : {"resize", "few"}) {
    const std::string line = line_with(text, name);
    ASSERT_LE(display_width(line), 105u) << line;
    EXPECT_EQ(display_width(line.substr(0, line.find(name[0] == 'r' ? "PASS" : "INCONCLUSIVE"))),
              place)
        << line;
  }
}

TEST(CompareTable, ANarrowTerminalGetsFewerColumns) {
  const std::string text = compare_table(sample(), {.width = 90});
  EXPECT_THAT(text, Not(HasSubstr("p Holm")));
  for (const char* name : {"resize", "few"})
    EXPECT_LE(display_width(line_with(text, name)), 90U) << line_with(text, name);
  EXPECT_THAT(line_with(text, "resize"), HasSubstr("PASS"));
}

TEST(CompareTable, ColourOnlyWhenAskedForAndNothingForged) {
  EXPECT_THAT(compare_table(sample()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(compare_table(sample(), {.width = 120, .colour = true}), HasSubstr("\x1b[31mFAIL"));
}

TEST(CompareTable, NothingToCompareIsSaid) {
  const std::string text = compare_table(*gate::compare(file_of({}), file_of({})));
  EXPECT_THAT(text, HasSubstr("no row was measured on both sides"));
  EXPECT_THAT(text, HasSubstr("SKIP: no rows"));
}

}  // namespace
}  // namespace sluice::report::compare_table_test
