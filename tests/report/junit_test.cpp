// tests/report/junit_test.cpp - JUnit XML read back: well-formed, counted right, nothing lost.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/junit.h"

#include <gtest/gtest.h>

#include "tests/report/gate_fixtures.h"
#include "tests/report/small_xml.h"
#include "tests/results/fixtures.h"

namespace sluice::report::junit_test {
namespace {

using testing::Element;
using testing::SmallXml;

/// Tests, failures, errors and skipped as stated, and as counted.
void expect_counts(const Element& holder, const std::vector<const Element*>& cases) {
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
  for (const Element* one : cases) {
    failures += one->all("failure").size();
    errors += one->all("error").size();
    skipped += one->all("skipped").size();
  }
  EXPECT_EQ(holder.attributes.at("tests"), std::to_string(cases.size()));
  EXPECT_EQ(holder.attributes.at("failures"), std::to_string(failures));
  EXPECT_EQ(holder.attributes.at("errors"), std::to_string(errors));
  EXPECT_EQ(holder.attributes.at("skipped"), std::to_string(skipped));
}

TEST(Junit, EveryStatusBecomesWhatCiShows) {
  const auto root = SmallXml::parse(junit(std::vector{testing::every_status()}));
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "testsuites");
  const auto suites = root->all("testsuite");
  ASSERT_EQ(suites.size(), 1U);
  EXPECT_EQ(suites[0]->attributes.at("name"), "gate: stored baseline");
  EXPECT_EQ(suites[0]->attributes.at("timestamp"), "2026-11-16T02:00:00Z");
  const auto cases = suites[0]->all("testcase");
  ASSERT_EQ(cases.size(), 7U);
  expect_counts(*root, cases);
  expect_counts(*suites[0], cases);
  const std::vector<std::string> kinds = {"system-out", "system-out", "system-out", "skipped",
                                          "skipped",    "failure",    "error"};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(cases[i]->children.size(), 1U);
    EXPECT_EQ(cases[i]->children[0].name, kinds[i]) << cases[i]->attributes.at("name");
  }
  const Element& failure = cases[5]->children[0];
  EXPECT_EQ(failure.attributes.at("type"), "regression");
  EXPECT_EQ(
      failure.attributes.at("message"),
      "FAIL: 1,000 tokens/s → 900.0 tokens/s, -10.00 % (at most 5 % less); because of f_fail");
  const auto properties = suites[0]->all("properties").at(0)->all("property");
  EXPECT_EQ(properties.at(0)->attributes.at("value"), "cpu_8c");
}

TEST(Junit, AReportWithoutLinesStillIsACase) {
  gate::GateReport report = testing::every_status();
  report.lines.clear();
  report.status = gate::GateStatus::skip;
  const auto root = SmallXml::parse(junit(std::vector{report}));
  ASSERT_TRUE(root);
  EXPECT_EQ(root->attributes.at("skipped"), "1");
}

TEST(Junit, HostileTextStaysText) {
  const auto root = SmallXml::parse(junit(std::vector{testing::hostile_report()}));
  ASSERT_TRUE(root);
  const auto cases = root->all("testsuite").at(0)->all("testcase");
  ASSERT_EQ(cases.size(), 7U);
  EXPECT_NE(cases[0]->attributes.at("name").find("<b a=\"1\" b='2'>&amp; ]]> \\n"),
            std::string::npos);
}

TEST(Junit, RowsOfEveryFixture) {
  for (const auto& [name, file] : fixtures::all()) {
    const auto root = SmallXml::parse(junit(std::vector{file}));
    ASSERT_TRUE(root) << name;
    const auto cases = root->all("testsuite").at(0)->all("testcase");
    ASSERT_EQ(cases.size(), file.rows.size()) << name;
    expect_counts(*root, cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const bool failed = file.rows[i].status == measure::RowStatus::failed;
      EXPECT_EQ(cases[i]->all("error").size(), failed ? 1U : 0U) << name << i;
    }
  }
}

TEST(Junit, TheReaderOfThisTestIsStrict) {
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  EXPECT_TRUE(SmallXml::parse(head + "<a b=\"1\">x<c/></a>\n"));
  for (const char* bad : {"<a>\n", "<a></b>\n", "<a b=\"1\" b=\"2\"/>\n", "<a b=1/>\n",
                          "<a>&no;</a>\n", "<a>\x01</a>\n", "<a/>x\n", "<a>\xff</a>\n"})
    EXPECT_FALSE(SmallXml::parse(head + bad)) << bad;
}

}  // namespace
}  // namespace sluice::report::junit_test
