// tests/eval/probe_set_test.cpp - the counts of the sets, the three ways to score, sets that are
// none.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/probe_set.h"

#include "sluice/eval/data.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice::eval::probe_set_test {
namespace {

TEST(ProbeSets, HaveExactlyTheirItems) {
  const struct {
    const char* name;
    std::size_t items;
  } kSets[] = {{"basic_reasoning_25", 25},
               {"format_following_30", 30},
               {"code_sanity_20", 20},
               {"engine_answers_40", 40}};
  std::set<std::string> prompts;
  for (const auto& expected : kSets) {
    const auto set = find_probe_set(expected.name);
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(set->items.size(), expected.items);
    EXPECT_EQ(set->sha256, data_digest(std::string("probes/") + expected.name + ".json"));
    for (const ProbeItem& item : set->items)
      EXPECT_TRUE(prompts.insert(item.prompt).second) << item.prompt;
  }
  EXPECT_EQ(prompts.size(), 115U);
}

TEST(ProbeSets, AreNeverInTheTrainingPart) {
  for (const char* file : {"training_prose.txt", "training_examples_2.txt", "fixed_shard.txt"}) {
    const auto text = data_file(file);
    ASSERT_TRUE(text);
    for (const std::string& name : probe_names()) {
      const ProbeSet set = *find_probe_set(name);
      if (set.of_engine) continue;  // its prompts are numbers, and it learns nothing
      for (const ProbeItem& item : set.items)
        EXPECT_EQ(text->find(item.prompt), std::string::npos) << file << ": " << item.prompt;
    }
  }
}

/// An answer that only has the wrong case must be able to fail.
TEST(ProbeSets, ScoreCaseWhereCaseIsAsked) {
  int asked = 0;
  for (const std::string& name : probe_names()) {
    const ProbeSet set = *find_probe_set(name);
    for (const ProbeItem& item : set.items) {
      if (item.prompt.find("letters.") == std::string::npos &&
          item.prompt.find(".upper()") == std::string::npos)
        continue;
      ++asked;
      EXPECT_TRUE(item.case_sensitive) << item.prompt;
      std::string other = item.expected;
      for (char& c : other)
        c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c >= 'A' && c <= 'Z' ? c + 32 : c);
      EXPECT_TRUE(is_correct(item, " " + item.expected + "\n"));
      EXPECT_FALSE(is_correct(item, other));
    }
  }
  EXPECT_EQ(asked, 6);
}

TEST(ProbeSets, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const auto set = find_probe_set("basic_reasoning_26");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Errc::usage);
  EXPECT_NE(set.error().message.find("code_sanity_20"), std::string::npos);
}

TEST(Scoring, FollowsTheMethod) {
  const struct {
    const char* expected;
    Method method;
    bool case_sensitive;
    const char* response;
    bool correct;
  } kCases[] = {
      {"Paris", Method::exact, false, " paris\n", true},
      {"Paris", Method::exact, false, "Paris.", false},
      {"Paris", Method::exact, true, "paris", false},
      {"Paris", Method::exact, true, "\tParis ", true},
      {"yes", Method::exact, false, "", false},
      {"yes", Method::prefix, false, " YES, of course", true},
      {"yes", Method::prefix, false, "oh yes", false},
      {"yes", Method::prefix, true, "Yes", false},
      {"yes", Method::prefix, false, "ye", false},
      {"^\\s*7\\b", Method::regex, false, " 7", true},
      {"^\\s*7\\b", Method::regex, false, " 70", false},
      {"^\\s*7\\b", Method::regex, false, "17", false},
      {"a.b", Method::regex, false, "x A\nB y", true},  // the dot matches a newline
      {"a\\.b", Method::regex, false, "axb", false},
      {"a[.]b", Method::regex, false, "a\nb", false},
      {"def", Method::regex, true, "DEF", false},
  };
  for (const auto& one : kCases) {
    const ProbeItem item{"Q", one.expected, one.method, one.case_sensitive};
    EXPECT_EQ(is_correct(item, one.response), one.correct) << one.expected << " / " << one.response;
  }
}

TEST(Scoring, TakesAnEndlessResponse) {
  const ProbeItem item{"Q", "(a|b)*c", Method::regex, false};
  EXPECT_FALSE(is_correct(item, std::string(1'000'000, 'a')));
}

TEST(ProbeSets, RefuseWhatIsNoSet) {
  const struct {
    const char* text;
    const char* named;
  } kCases[] = {
      {"{", "set"},
      {"[]", "no list of items"},
      {R"({"items": []})", "no list of items"},
      {R"({"items": [3]})", "item 1"},
      {R"({"items": [{"prompt": "a"}]})", "expected"},
      {R"({"items": [{"prompt": "a", "expected": "b", "match": "exact"}]})", "'match'"},
      {R"({"items": [{"prompt": "a", "expected": "b", "method": "judge"}]})", "'judge'"},
      {R"({"items": [{"prompt": "a", "expected": "(", "method": "regex"}]})", "regular"},
      {R"({"items": [{"prompt": 7, "expected": "b"}]})", "prompt"},
      {R"({"items": [{"prompt": "a", "expected": "b", "case_sensitive": 1}]})", "case_sensitive"},
      {R"({"asks": "me", "items": [{"prompt": "a", "expected": "b"}]})", "asks"},
      {R"({"asks": 1, "items": [{"prompt": "a", "expected": "b"}]})", "asks"},
  };
  for (const auto& one : kCases) {
    const auto set = parse_probe_set(one.text, "set");
    ASSERT_FALSE(set) << one.text;
    EXPECT_EQ(set.error().code, Errc::invalid_input);
    EXPECT_NE(set.error().message.find(one.named), std::string::npos) << set.error().message;
  }
}

}  // namespace
}  // namespace sluice::eval::probe_set_test
