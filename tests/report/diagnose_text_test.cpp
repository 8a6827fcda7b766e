// tests/report/diagnose_text_test.cpp - the attribution of a file as text, also of a file that
// holds nonsense.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/diagnose_text.h"

#include "sluice/analysis/bottleneck.h"
#include "sluice/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report::diagnose_text_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

results::ResultFile file_of(const analysis::StepTimes& times) {
  results::ResultFile file;
  results::Diagnosis& found = file.diagnosis.emplace();
  found.batch_size = 8;
  found.step = "vit5-tiny, fp32 on cpu";
  found.attribution.value = analysis::attribute(times);
  found.findings = {analysis::finding_of(*found.attribution.value)};
  return file;
}

TEST(DiagnoseTextTest, SaysWhatWasMeasuredAndWhatItMeans) {
  analysis::StepTimes times;
  times.loader = {20, 19, 21, 0.95};
  times.model = analysis::exactly(32);
  times.together = analysis::exactly(70.4);
  times.wait_share = analysis::exactly(2 / 70.4);
  const std::string text = diagnose_text(file_of(times));
  EXPECT_THAT(text, HasSubstr("Per batch of 8 (vit5-tiny, fp32 on cpu)"));
  EXPECT_THAT(text, HasSubstr("20.000 ms  (19.000 to 21.000)"));
  EXPECT_THAT(text, HasSubstr("`sluice tune`"));
  EXPECT_THAT(text, HasSubstr("Verdict: INTERFERENCE:"));
  EXPECT_THAT(text, Not(HasSubstr("transfer alone")));  // was not measured
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(DiagnoseTextTest, AFileWithoutOneHasNoText) {
  results::ResultFile file;
  EXPECT_EQ(diagnose_text(file), "");
  file.diagnosis.emplace().attribution.reason = "the worker died";
  EXPECT_EQ(diagnose_text(file), "");
}

TEST(DiagnoseTextTest, TextOfAFileCannotPaintTheTerminal) {
  results::ResultFile file = file_of({});
  file.diagnosis->step = "\x1b[31mred";
  file.diagnosis->attribution.value->times.no_transfer = "\x1b[31mred";
  file.diagnosis->attribution.value->overlap = NAN;
  file.diagnosis->stages.push_back({"\x1b[31mred", 1, 2, {}, {}});
  file.diagnosis->findings.push_back({"\x1b", "\x1b", {"\x1b"}});
  const std::string text = diagnose_text(file);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, HasSubstr("Verdict:"));
}

}  // namespace
}  // namespace sluice::report::diagnose_text_test
