// tests/report/badge_test.cpp - the verdict as a picture: words, colour, nothing from elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/badge.h"

#include <gtest/gtest.h>

#include "tests/report/gate_fixtures.h"
#include "tests/report/small_xml.h"

namespace sluice::report::badge_test {
namespace {

using gate::GateStatus;

gate::GateReport of(GateStatus status) {
  gate::GateReport report;
  report.lines = {testing::gate_line("speed", status)};
  report.status = status;
  return report;
}

/// The picture as XML; SmallXml asks for the line that opens a file of it.
testing::Element picture(const std::vector<gate::GateReport>& reports) {
  const std::string svg = badge_svg(reports);
  const auto parsed =
      testing::SmallXml::parse("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg);
  EXPECT_TRUE(parsed) << svg;
  return parsed ? *parsed : testing::Element{};
}

std::string title(const std::vector<gate::GateReport>& reports) {
  const testing::Element root = picture(reports);
  const auto titles = root.all("title");
  return titles.empty() ? "" : titles[0]->text;
}

TEST(Badge, SaysTheWorstVerdict) {
  EXPECT_EQ(title({of(GateStatus::pass)}), "performance: PASS");
  EXPECT_EQ(title({of(GateStatus::pass), of(GateStatus::fail)}), "performance: FAIL -10.00 %");
  EXPECT_EQ(title({of(GateStatus::inconclusive), of(GateStatus::pass)}),
            "performance: INCONCLUSIVE");
  EXPECT_EQ(title({of(GateStatus::skip)}), "performance: SKIP");
  EXPECT_EQ(title({}), "performance: SKIP");
}

TEST(Badge, ColoursTellVerdictsApart) {
  const auto colour = [](GateStatus status) {
    const testing::Element root = picture({of(status)});
    return root.all("path").at(0)->attributes.at("fill");
  };
  EXPECT_EQ(colour(GateStatus::pass), colour(GateStatus::improved));
  EXPECT_NE(colour(GateStatus::pass), colour(GateStatus::fail));
  EXPECT_NE(colour(GateStatus::pass), colour(GateStatus::skip));
  EXPECT_NE(colour(GateStatus::fail), colour(GateStatus::warn));
}

TEST(Badge, IsOneFileThatHostileTextCannotBreak) {
  gate::GateReport report = testing::hostile_report();
  const std::string svg = badge_svg({report});
  picture({report});
  EXPECT_EQ(svg.find("href"), std::string::npos);
  EXPECT_EQ(svg.find("url("), std::string::npos);
  EXPECT_EQ(svg.find("@import"), std::string::npos);
  EXPECT_EQ(svg.find("http"), svg.find("http://www.w3.org/2000/svg")) << "the name space alone";
  EXPECT_EQ(svg.rfind("http"), svg.find("http"));
}

}  // namespace
}  // namespace sluice::report::badge_test
