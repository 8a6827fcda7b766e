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

results::ResultFile file_with(Json summary) {
  results::ResultFile file;
  file.extra = Json{{"summary", std::move(summary)}};
  return file;
}

Json summary_of(const analysis::StepTimes& times) {
  const analysis::Attribution found = analysis::attribute(times);
  return Json{{"batch_size", 8},
              {"step", "vit5-tiny, fp32 on cpu"},
              {"attribution", analysis::to_json(found)},
              {"diagnosis", Json::array({analysis::to_json(analysis::finding_of(found))})}};
}

TEST(DiagnoseTextTest, SaysWhatWasMeasuredAndWhatItMeans) {
  analysis::StepTimes times;
  times.loader = {20, 19, 21, 0.95};
  times.model = analysis::exactly(32);
  times.together = analysis::exactly(70.4);
  times.wait_share = analysis::exactly(2 / 70.4);
  const std::string text = diagnose_text(file_with(summary_of(times)));
  EXPECT_THAT(text, HasSubstr("Per batch of 8 (vit5-tiny, fp32 on cpu)"));
  EXPECT_THAT(text, HasSubstr("20.000 ms  (19.000 to 21.000)"));
  EXPECT_THAT(text, HasSubstr("fewer --num-workers"));
  EXPECT_THAT(text, HasSubstr("Verdict: INTERFERENCE:"));
  EXPECT_THAT(text, Not(HasSubstr("transfer alone")));  // was not measured
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(DiagnoseTextTest, AFileWithoutOneHasNoText) {
  EXPECT_EQ(diagnose_text(results::ResultFile{}), "");
  EXPECT_EQ(diagnose_text(file_with(Json::object())), "");
  EXPECT_EQ(diagnose_text(file_with(Json{{"attribution", nullptr}})), "");
  EXPECT_EQ(diagnose_text(file_with(Json::array({1}))), "");
}

TEST(DiagnoseTextTest, NonsenseIsLeftOut) {
  const std::string text = diagnose_text(
      file_with(Json{{"attribution",
                      {{"loader_ms_per_batch", "fast"},
                       {"loader_ms_per_batch_reason", "\x1b[31mred"},
                       {"overlap", Json::array()},
                       {"statement", 7}}},
                     {"stages", 3},
                     {"diagnosis", Json::array({1, Json{{"diagnosis", Json::object()}}})}}));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("Verdict:"));
}

}  // namespace
}  // namespace sluice::report::diagnose_text_test
