// tests/results/resume_test.cpp - what counts as finished, and which folders may be continued.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"

namespace sluice::results::resume_test {
namespace {

using ::testing::HasSubstr;

TEST(ResumeTest, FailedAndSkippedRowsAreMeasuredAgain) {
  const auto finished = finished_cases(fixtures::peers());
  EXPECT_TRUE(finished.count({"resize/bilinear", "pillow"}));
  EXPECT_TRUE(finished.count({"median-blur/k=9", "opencv"}));  // early stopped
  EXPECT_TRUE(finished.count({"median-blur/k=9", "pillow"}));  // unsupported
  EXPECT_FALSE(finished.count({"elastic/alpha=50", "sluice"}));
  EXPECT_FALSE(finished.count({"elastic/alpha=50", "opencv"}));
}

TEST(ResumeTest, ACaseIsFinishedInAllLibrariesOrNotAtAll) {
  const auto file = fixtures::peers();
  const auto finished = finished_cases(file);
  EXPECT_TRUE(is_finished(finished, "resize/bilinear", {"sluice", "opencv", "pillow"}));
  EXPECT_FALSE(is_finished(finished, "solarize", {"sluice", "opencv"}));
  EXPECT_TRUE(is_finished(finished, "solarize", {"sluice"}));
  EXPECT_FALSE(is_finished(finished, "never measured", {"sluice"}));
  const auto rows = finished_rows(file, {"sluice", "opencv", "pillow"});
  EXPECT_EQ(rows.size(), 9U);  // three cases in three libraries
}

TEST(ResumeTest, TheSameConfigurationMayBeContinued) {
  const auto existing = fixtures::quick();
  auto planned = fixtures::quick();
  planned.session_id = "another";
  planned.argv.emplace_back("--resume");
  planned.rows.clear();
  planned.run_config = Json::object();  // the same keys in another order
  for (const char* key : {"policy", "seed", "images", "command"})
    planned.run_config[key] = existing.run_config[key];
  const auto status = check_resumable(existing, planned, "r.json");
  EXPECT_TRUE(status) << status.error().message;
}

TEST(ResumeTest, AnotherConfigurationIsRefusedByKey) {
  const auto refused = [](auto change) {
    auto planned = fixtures::quick();
    change(planned);
    const auto status = check_resumable(fixtures::quick(), planned, "r.json");
    return status ? std::string("accepted") : status.error().message;
  };
  EXPECT_THAT(refused([](ResultFile& f) { f.run_config["policy"]["runs"] = 7; }),
              HasSubstr("r.json: cannot be resumed: run_config.policy.runs was 5 and is now 7"));
  EXPECT_THAT(refused([](ResultFile& f) { f.run_config.erase("seed"); }),
              HasSubstr("run_config.seed was 0 and is now absent"));
  EXPECT_THAT(refused([](ResultFile& f) { f.run_config["new"] = true; }),
              HasSubstr("run_config.new was absent and is now true"));
  EXPECT_THAT(refused([](ResultFile& f) { f.dataset.hash = "sha256:0"; }),
              HasSubstr("dataset.hash was"));
  EXPECT_THAT(refused([](ResultFile& f) { f.tool.version = "0.2.0"; }),
              HasSubstr("tool.version was \"0.1.0\" and is now \"0.2.0\""));
  EXPECT_THAT(refused([](ResultFile& f) { f.machine_profile = "other"; }),
              HasSubstr("machine_profile was"));
}

}  // namespace
}  // namespace sluice::results::resume_test
