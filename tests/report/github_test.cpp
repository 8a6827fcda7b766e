// tests/report/github_test.cpp - summary, annotations and comment keep to what GitHub reads.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/github.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/report/gate/exports.h"

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/report/gate_fixtures.h"

namespace sluice::report::github_test {
namespace {

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    ++n;
  return n;
}

gate::GateReport many(std::size_t n, gate::GateStatus status, const std::string& reason) {
  gate::GateReport report = testing::every_status();
  report.lines.assign(n, testing::gate_line("metric", status));
  for (gate::GateLine& line : report.lines)
    line.reason = reason;
  report.status = status;
  return report;
}

TEST(GithubAnnotations, OnePerFailingLineAndOnePerDoubt) {
  const auto lines = split(github_annotations({testing::every_status()}), '\n');
  ASSERT_EQ(lines.size(), 5U);  // the last is empty
  EXPECT_EQ(lines[0],
            "::error title=f_fail FAIL::FAIL: 1,000 tokens/s → 900.0 tokens/s, -10.00 %25 (at most "
            "5 %25 less); because of f_fail");
  EXPECT_TRUE(lines[1].starts_with("::error title=g_invalid INVALID::"));
  EXPECT_TRUE(lines[2].starts_with("::warning title=d_inconclusive INCONCLUSIVE::"));
  EXPECT_TRUE(lines[3].starts_with("::warning title=c_warn WARN::"));
}

TEST(GithubAnnotations, NoBaselineIsOneWarning) {
  gate::GateReport report = many(3, gate::GateStatus::skip, "no baseline");
  report.summary = "SKIP: no baseline";
  EXPECT_EQ(github_annotations({report}),
            "::warning title=performance gate%3A nothing was judged::SKIP: no baseline\n");
  EXPECT_EQ(github_annotations({many(3, gate::GateStatus::pass, "fine")}), "");
}

TEST(GithubAnnotations, TenOfAKindAtMost) {
  for (const std::size_t n : {9U, 10U, 11U, 500U}) {
    const std::string text = github_annotations({many(n, gate::GateStatus::fail, "slow")});
    EXPECT_EQ(count(text, "::error "), std::min<std::size_t>(n, 10)) << n;
    EXPECT_EQ(count(text, "lines more"), n > 10 ? 1U : 0U) << n;
  }
  EXPECT_NE(github_annotations({many(500, gate::GateStatus::fail, "slow")}).find("491 lines more"),
            std::string::npos);
}

TEST(GithubAnnotations, HostileTextIsNoCommand) {
  const std::string text = github_annotations({testing::hostile_report()});
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    EXPECT_TRUE(line.starts_with("::error title=") || line.starts_with("::warning title=")) << line;
    const std::string title = line.substr(0, line.find("::", 2));
    EXPECT_EQ(count(title.substr(2), ":"), 0U) << line;
    EXPECT_EQ(count(title, ","), 0U) << line;
  }
  EXPECT_EQ(escape_command_data("50 %\r\n"), "50 %25%0D%0A");
  EXPECT_EQ(escape_command_property("a:b,c%"), "a%3Ab%2Cc%25");
}

TEST(GithubSummary, WorstFirstAndEveryLineThere) {
  const std::string text = github_summary({testing::every_status()});
  EXPECT_LT(text.find("| f_fail |"), text.find("| g_invalid |"));
  EXPECT_LT(text.find("| g_invalid |"), text.find("| d_inconclusive |"));
  EXPECT_LT(text.find("| c_warn |"), text.find("| a_pass |"));
  EXPECT_NE(text.find("| f_fail | 1,000 tokens/s | 900.0 tokens/s | -10.00 % | at most 5 % less | "
                      "**FAIL** |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("- **f_fail**: FAIL: "), std::string::npos);
  EXPECT_EQ(text.find("- **a_pass**"), std::string::npos);
}

TEST(GithubSummary, HostileTextStaysInItsCell) {
  for (const std::string& text :
       {github_summary({testing::hostile_report()}), github_comment({testing::hostile_report()})}) {
    EXPECT_TRUE(is_utf8(text));
    EXPECT_EQ(text.find("<b"), std::string::npos);
    EXPECT_EQ(text.find("@someone"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    for (const std::string& line : split(text, '\n')) {
      EXPECT_FALSE(line.starts_with("::"));
      if (!line.starts_with("| ")) continue;
      std::size_t bars = 0;
      for (std::size_t i = 0; i < line.size(); ++i)
        bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
      EXPECT_EQ(bars, 7U) << line;
    }
  }
}

TEST(GithubComment, BeginsWithItsMarkerAndFoldsWhatPassed) {
  const std::string text = github_comment({testing::every_status(), testing::every_status()});
  EXPECT_TRUE(text.starts_with("<!-- sluice-perf-gate -->\n"));
  EXPECT_EQ(count(text, std::string(kCommentMarker)), 1U);
  EXPECT_EQ(count(text, "<details>"), 2U);
  EXPECT_EQ(count(text, "</details>"), 2U);
  EXPECT_LT(text.find("| f_fail |"), text.find("<details>"));
  EXPECT_GT(text.find("| a_pass |"), text.find("<details>"));
}

/// Pairs that say what they can see, and how they were taken.
gate::GateReport with_pairs() {
  gate::GateReport report = testing::every_status();
  report.lines[5].details = Json{{"mde", 0.0213}, {"pairs", 16}};
  report.reproduce = "./sluice gate --against 1a2b --build 'make <all> @home'";
  return report;
}

TEST(GithubComment, SaysWhatPairsCouldSeeAndHowToReproduce) {
  for (const std::string& text : {github_comment({with_pairs()}), github_summary({with_pairs()})}) {
    EXPECT_NE(text.find("MDE, the smallest loss that these pairs would have found with 90 % "
                        "probability: f_fail 2.1 % with 16 pairs\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("<details><summary>How to reproduce</summary>\n\n<pre>./sluice gate "
                        "--against 1a2b --build "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("make &lt;all&gt; &#64;home"), std::string::npos) << text;
  }
  const std::string without = github_comment({testing::every_status()});
  EXPECT_EQ(without.find("MDE"), std::string::npos);
  EXPECT_EQ(without.find("How to reproduce"), std::string::npos);
}

TEST(GithubComment, LinksTheSiteWhereOneIsNamed) {
  const std::string site = "https://example.org/perf/?a=1&b=2#x";
  for (const std::string& text :
       {github_comment({with_pairs()}, site), github_summary({with_pairs()}, site)})
    EXPECT_TRUE(text.ends_with("[All metrics over time](<" + site + ">)\n")) << text;
  EXPECT_EQ(github_comment({with_pairs()}).find("All metrics"), std::string::npos);
}

TEST(GithubComment, OnlyAddressesAreLinked) {
  for (const char* good : {"https://example.org", "http://localhost:8080/a-b_c~d%20"})
    EXPECT_TRUE(check_site(good, "--site")) << good;
  for (const std::string& bad :
       {std::string("javascript:alert(1)"), std::string("example.org"), std::string(),
        std::string("https://a b"), std::string("https://a>b"), std::string("https://a)[x](y"),
        std::string("https://a\nb"), "https://" + std::string(600, 'a')}) {
    const Status refused = check_site(bad, "--site");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Errc::usage);
    EXPECT_TRUE(refused.error().message.starts_with("--site "));
  }
}

TEST(Github, LongReportsKeepToTheLimits) {
  const gate::GateReport report = many(20'000, gate::GateStatus::warn, std::string(500, 'x'));
  const std::string summary = github_summary({report, report});
  const std::string comment = github_comment({report, report});
  EXPECT_LE(summary.size(), kSummaryBytes);
  EXPECT_GT(summary.size(), kSummaryBytes / 2);
  EXPECT_LE(comment.size(), kCommentBytes);
  for (const std::string& text : {summary, comment})
    EXPECT_EQ(count(text, "lines more are in verdict.json"), 1U);
}

TEST(GateExports, WritesThreeFiles) {
  const testing_support::TemporaryFolder folder;
  ASSERT_TRUE(write_gate_exports(testing::every_status(), folder.path() / "new"));
  for (const char* name : {"junit.xml", "metrics.prom", "summary.md"}) {
    const auto text = read_text_file(folder.path() / "new" / name);
    ASSERT_TRUE(text) << name;
    EXPECT_NE(text->find("f_fail"), std::string::npos) << name;
  }
  ASSERT_TRUE(write_file_atomic(folder.path() / "file", "x"));
  EXPECT_FALSE(write_gate_exports(testing::every_status(), folder.path() / "file"));
}

}  // namespace
}  // namespace sluice::report::github_test
