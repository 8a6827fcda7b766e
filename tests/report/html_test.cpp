// tests/report/html_test.cpp - the page holds what it must, fetches nothing, and no string of a
// file becomes markup.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"
#include <regex>
#include <set>
#include <string>

namespace sluice::report::html_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++n;
  return n;
}

TEST(HtmlTest, HoldsEveryRowIntervalAndDistribution) {
  const auto file = fixtures::quick();
  const std::string page = html({file});
  EXPECT_EQ(count(page, "<th role=\"rowheader\""), file.rows.size() + file.canary.size());
  EXPECT_EQ(count(page, "class=\"interval\""), file.rows.size() + file.canary.size());
  EXPECT_EQ(count(page, "class=\"distribution\""), file.rows.size());
  EXPECT_EQ(count(page, "<circle class=\"dot throttled\""), 3U);
  EXPECT_THAT(page, HasSubstr("sluice quick --out &#39;runs/my run&#39;"));
  EXPECT_THAT(page, HasSubstr("2 of 4 cores are usable. Give the run whole cores."));
  EXPECT_THAT(page, HasSubstr("Intel(R) Xeon(R) Processor @ 2.70GHz"));
  EXPECT_THAT(page, HasSubstr("<span class=\"chip unstable\">unstable</span>"));
}

TEST(HtmlTest, TellsStatusesApartAndComparesLibraries) {
  const std::string page = html({fixtures::peers()});
  for (const char* chip :
       {"chip ok", "chip early", "chip unsupported", "chip failed", "chip skipped"}) {
    EXPECT_THAT(page, HasSubstr(chip));
  }
  EXPECT_THAT(page, HasSubstr("worker killed by signal 11 (SIGSEGV)"));
  EXPECT_EQ(count(page, "class=\"bars\""), 6U);
}

TEST(HtmlTest, TagsAndAttributesAreOnlyOurs) {
  const std::set<std::string> tags = {
      "html",    "head",   "meta",    "link",    "title", "style", "body",   "main",
      "section", "header", "footer",  "nav",     "a",     "h1",    "h2",     "h3",
      "p",       "ul",     "li",      "div",     "span",  "small", "strong", "table",
      "caption", "thead",  "tbody",   "tr",      "th",    "td",    "br",     "dl",
      "dt",      "dd",     "details", "summary", "pre",   "code",  "figure", "figcaption",
      "svg",     "rect",   "circle",  "line",    "text",  "tfoot"};
  const std::regex tag_form("</?([a-zA-Z0-9]+)((?:\\s+[a-zA-Z0-9:-]+(?:=\"[^\"<>]*\")?)*)\\s*/?>");
  for (const auto& [name, file] : fixtures::all()) {
    if (name == "large") continue;  // nothing new in it, and std::regex is slow
    std::string page = html({file});
    const auto style = page.find("<style>");
    page.erase(style, page.find("</style>") - style);
    std::size_t brackets = 0;
    for (std::sregex_iterator it(page.begin(), page.end(), tag_form), end; it != end; ++it) {
      EXPECT_TRUE(tags.count((*it)[1].str())) << name << ": " << it->str();
      const std::string names = std::regex_replace((*it)[2].str(), std::regex("\"[^\"]*\""), "");
      EXPECT_THAT(names, Not(HasSubstr(" on"))) << name;
      ++brackets;
    }
    EXPECT_EQ(count(page, "<"), brackets + 1)
        << name << ": a '<' that opens no tag of ours";  // and the doctype
  }
}

TEST(HtmlTest, MatrixTablesHoldEveryCell) {
  const std::string page = html(fixtures::matrix());
  EXPECT_EQ(count(page, "<table class=\"matrix\">"), 5U);
  EXPECT_EQ(count(page, "<tfoot>"), 5U);
  EXPECT_EQ(count(page, "class=\"best\""), 3U + 1 + 9 + 2 + 3);
  EXPECT_EQ(count(page, "<td class=\"failed\""), 2U);
  EXPECT_EQ(count(page, "<td class=\"skipped\""), 1U);
  EXPECT_EQ(count(page, "<td class=\"early\""), 3U);
  EXPECT_EQ(count(page, "<td class=\"aside\""), 2U);
  EXPECT_EQ(count(page, "<th scope=\"col\" class=\"memory\">"), 2U);
  EXPECT_THAT(page, HasSubstr("≤20 img/s"));
  EXPECT_THAT(page, HasSubstr("≤0.5 clips/s"));
  EXPECT_THAT(page, HasSubstr("title=\"opencv-wheel; 95 % interval "));
  EXPECT_LT(page.find("DataLoader: image-rgb"), page.find("Profiler: image-rgb"));
  EXPECT_LT(page.find("<h2 id=\"Table-4\">Profiler"), page.find("<h2 id=\"Table-5\">Exploratory"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(HtmlTest, LoadsNothing) {
  for (const auto& [name, file] : fixtures::all()) {
    const std::string page = html({file});
    EXPECT_THAT(page, Not(HasSubstr("src=\""))) << name;
    EXPECT_THAT(page, Not(HasSubstr("url("))) << name;
    EXPECT_THAT(page, Not(HasSubstr("@import"))) << name;
    const std::regex href("href=\"([^\"]*)\"");
    for (std::sregex_iterator it(page.begin(), page.end(), href), end; it != end; ++it) {
      const std::string target = (*it)[1].str();
      EXPECT_TRUE(target == "data:," || target.starts_with("#")) << target;
    }
    EXPECT_THAT(page, HasSubstr("Content-Security-Policy\" content=\"default-src 'none'"));
  }
}

TEST(HtmlTest, IdsAreUniqueAcrossSections) {
  const std::string page = html({fixtures::quick(), fixtures::peers()});
  std::set<std::string> ids;
  const std::regex id(" id=\"([^\"]*)\"");
  for (std::sregex_iterator it(page.begin(), page.end(), id), end; it != end; ++it) {
    EXPECT_TRUE(ids.insert((*it)[1].str()).second) << it->str();
  }
  EXPECT_GE(ids.size(), 10U);
}

TEST(HtmlTest, ManySamplesBecomeAHistogram) {
  const std::string page = html({fixtures::large()});
  EXPECT_THAT(page, HasSubstr("class=\"bin\""));
  EXPECT_LT(page.size(), 1'500'000U);
}

TEST(HtmlTest, NoNumberIsNotANumber) {
  for (const auto& [name, file] : fixtures::all()) {
    const std::string page = html({file});
    EXPECT_THAT(page, Not(HasSubstr("nan"))) << name;
    EXPECT_THAT(page, Not(HasSubstr("\"inf"))) << name;
  }
}

TEST(HtmlTest, NoFileIsStillAPage) {
  EXPECT_THAT(html({}), HasSubstr("No result file was given"));
}

}  // namespace
}  // namespace sluice::report::html_test
