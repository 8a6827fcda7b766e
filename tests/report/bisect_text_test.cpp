// tests/report/bisect_text_test.cpp - a search as a terminal shows it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/bisect_text.h"

#include "sluice/core/text.h"
#include "sluice/gate/pairs/paired_gate.h"

#include <gmock/gmock.h>

namespace sluice::report::bisect_text_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Four commits, the third one slower; the second does not build. Every pair gives the same.
gate::BisectRecord searched() {
  gate::BisectRecord record;
  record.question.command = "./p\x1b[31m";
  record.question.metric = "cpu";
  for (const char* name : {"g", "a", "b", "c", "d"})
    record.commits.push_back({std::string(40, name[0]), std::string("change \x1b ") + name});
  gate::BisectOptions options;
  options.looks = gate::bisect_looks(12);
  record.state = *gate::begin_bisect(4, options);
  while (const gate::BisectProbe* asked = record.state.asked()) {
    record.pairs.resize(record.state.probes.size());
    if (asked->revision == 2) {
      EXPECT_TRUE(gate::pass_over(record.state, "build of b: exit code 1\nand more"));
      continue;
    }
    gate::BisectPairs& pairs = record.pairs.back();
    pairs.a.assign(12, 1.0);
    pairs.b.assign(12, asked->revision >= 3 ? 1.05 : 1.0);
    EXPECT_TRUE(gate::answer(record.state, gate::log_ratios(pairs.a, pairs.b, record.better)));
  }
  record.pairs.resize(record.state.probes.size());
  return record;
}

TEST(BisectText, RevisionsInTheOrderOfTheHistory) {
  const std::string text = bisect_text(searched());
  EXPECT_THAT(text, HasSubstr("4 commits, cpu of ./p\\x1b[31m"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_LT(text.find("\n1  aaaaaaaaaaaa"), text.find("\n2  bbbbbbbbbbbb"));
  EXPECT_LT(text.find("\n2  bbbbbbbbbbbb"), text.find("\n3  cccccccccccc"));
  EXPECT_THAT(text, HasSubstr("2: build of b: exit code 1\\nand more"));
  EXPECT_THAT(text, HasSubstr("one of 2 commits, bbbbbbbbbbbb to cccccccccccc: 4.8 % slower"));
  EXPECT_THAT(text, Not(HasSubstr("again: "))) << "no single commit is named";
  for (const std::string& line : split(text, '\n'))
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
}

TEST(BisectText, LongSubjectsAreCutBetweenCharacters) {
  gate::BisectRecord record = searched();
  for (gate::BisectCommit& commit : record.commits)
    commit.subject = std::string(49, 'x') + "\u00e9\u00e9\u00e9";
  const std::string text = bisect_text(record);
  EXPECT_TRUE(is_utf8(text));
  EXPECT_THAT(text, HasSubstr(std::string(49, 'x') + "..."));
}

}  // namespace
}  // namespace sluice::report::bisect_text_test
