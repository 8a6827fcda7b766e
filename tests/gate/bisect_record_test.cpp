// tests/gate/bisect_record_test.cpp - a search on the disk: its sentence, its JSON, and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/bisect/record.h"
#include "sluice/gate/pairs/paired_gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace sluice::gate::bisect_record_test {
namespace {

/// Four commits, the third one 5 % slower; every pair gives the same.
BisectRecord searched(double loss = 0.05, std::size_t broken = 0) {
  BisectRecord record;
  record.question = {.good = "g",
                     .bad = "d",
                     .commits = 4,
                     .build = "make",
                     .command = "./p 'x'",
                     .folder = "",
                     .metric = "stdout",
                     .alpha = 0.05,
                     .tau = 0.03,
                     .floor = 0.01,
                     .most_pairs = 12};
  for (const char* name : {"g", "a", "b", "c", "d"})
    record.commits.push_back({std::string(40, name[0]), std::string("change ") + name});
  BisectOptions options;
  options.looks = bisect_looks(12);
  record.state = *begin_bisect(4, options);
  while (const BisectProbe* asked = record.state.asked()) {
    record.pairs.resize(record.state.probes.size());
    BisectPairs& pairs = record.pairs.back();
    if (asked->revision == broken) {
      EXPECT_TRUE(pass_over(record.state, "it does not build"));
      continue;
    }
    const double b = asked->revision >= 3 ? 1 + loss : 1;
    for (int i = 0; i < record.state.wanted_pairs(); ++i) {
      pairs.a.push_back(1);
      pairs.b.push_back(b * (1 + 0.001 * (i % 3)));
      pairs.order.emplace_back("ab");
    }
    EXPECT_TRUE(answer(record.state, log_ratios(pairs.a, pairs.b, record.better)));
  }
  record.pairs.resize(record.state.probes.size());
  return record;
}

TEST(BisectRecord, SaysWhoItWas) {
  const BisectRecord record = searched();
  const std::string summary = summary_of(record);
  EXPECT_EQ(summary.rfind("cccccccccccc change c: 4.8 % slower (-4.", 0), 0U) << summary;
  EXPECT_NE(summary.find("confidence at least 95.0 %"), std::string::npos) << summary;
  const std::string again =
      "sluice bisect bbbbbbbbbbbb cccccccccccc --build make --run './p '\\''x'\\''' "
      "--metric stdout";
  EXPECT_EQ(reproduce(record), again + " --max-pairs 12");
  BisectRecord asked = record;
  asked.question.most_pairs = kBisectMostPairs;
  EXPECT_EQ(reproduce(asked), again);
  asked.question.tau = 0.1;
  asked.question.floor = 0;
  asked.question.alpha = 0.001;
  asked.question.folder = "tools/my bench/";
  EXPECT_EQ(reproduce(asked), "cd \"$(git rev-parse --show-toplevel)\"/'tools/my bench/' && " +
                                  again + " --tau 0.1 --floor 0 --alpha 0.001");
  const Json json = to_json(record);
  EXPECT_EQ(json["result"]["end"], "found");
  EXPECT_EQ(json["result"]["commit"]["subject"], "change c");
  EXPECT_NEAR(json["result"]["speed_change"]["point"].get<double>(), -0.0476, 1e-3);
  EXPECT_EQ(json["probes"].size(), 3U);
  EXPECT_EQ(json["probes"][0]["verdict"], "bad");
}

TEST(BisectRecord, TheIntervalHoldsForAPairThatEndsWhenItDecides) {
  const BisectRecord record = searched();
  const auto change = change_of_guilty(record);
  ASSERT_TRUE(change);
  EXPECT_NEAR(change->confidence, 1 - 2 * 0.05 / 3, 1e-12) << "a third of alpha, one look";
  BisectRecord first = record;  // as if GOOD were the commit before
  first.state.good = 0;
  EXPECT_NEAR(change_of_guilty(first)->point, -std::log(1.05), 2e-3);
}

TEST(BisectRecord, ARangeNamesItsSuspects) {
  const BisectRecord record = searched(0.05, 2);
  EXPECT_EQ(record.state.end, BisectEnd::range);
  const Json json = to_json(record);
  EXPECT_EQ(json["result"]["suspects"].size(), 2U);
  EXPECT_TRUE(json["result"]["commit"].is_null());
  EXPECT_NE(summary_of(record).find("one of 2 commits, bbbbbbbbbbbb to cccccccccccc"),
            std::string::npos)
      << summary_of(record);
  EXPECT_EQ(reproduce(record), "");
}

TEST(BisectRecord, ARangeThatMorePairsCouldHalveSaysSo) {
  BisectRecord record = searched(0.05, 2);  // passed over: pairs do not help
  EXPECT_EQ(summary_of(record).find("--max-pairs"), std::string::npos) << summary_of(record);
  for (BisectProbe& probe : record.state.probes)
    if (probe.revision == 2) probe.verdict = ProbeVerdict::undecided;
  EXPECT_NE(summary_of(record).find("--max-pairs"), std::string::npos) << summary_of(record);
}

TEST(BisectRecord, NothingToFind) {
  const BisectRecord record = searched(0);
  EXPECT_EQ(record.state.end, BisectEnd::not_slower);
  EXPECT_NE(summary_of(record).find("a loss of 3 % is ruled out"), std::string::npos);
  EXPECT_TRUE(to_json(record)["result"]["speed_change"].is_null());
}

TEST(BisectRecord, IsReadBack) {
  const BisectRecord record = searched(0.05, 2);
  const Json json = *parse_json(dump_json(to_json(record)), "test");
  const auto stored = stored_bisect(json, record.question, "bisect.json");
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_TRUE(stored->ended);
  ASSERT_EQ(stored->probes.size(), record.state.probes.size());
  EXPECT_EQ(stored->probes[0].pairs.b, record.pairs[0].b);
  EXPECT_EQ(stored->probes[1].skipped, "it does not build");
}

TEST(BisectRecord, AnotherQuestionAndDamageAreRefused) {
  const BisectRecord record = searched();
  const Json json = to_json(record);
  BisectQuestion other = record.question;
  other.command = "./q";
  other.tau = 0.05;
  const auto differs = stored_bisect(json, other, "bisect.json");
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().code, Errc::usage);
  EXPECT_NE(differs.error().message.find("(its run, tau differ)"), std::string::npos)
      << differs.error().message;
  const auto refused = [&](auto&& damage) {
    Json bad = json;
    damage(bad);
    const auto stored = stored_bisect(bad, record.question, "bisect.json");
    return !stored && stored.error().code == Errc::invalid_input;
  };
  EXPECT_TRUE(refused([](Json& bad) { bad = Json::array(); }));
  EXPECT_TRUE(refused([](Json& bad) { bad["rule"] = "pairs"; }));
  EXPECT_TRUE(refused([](Json& bad) { bad["probes"] = 3; }));
  EXPECT_TRUE(refused([](Json& bad) { bad["probes"][0]["revision"] = 5; }));
  EXPECT_TRUE(refused([](Json& bad) { bad["probes"][0]["pairs"]["a"][2] = -1; }));
  EXPECT_TRUE(refused([](Json& bad) { bad["probes"][0]["pairs"]["a"].push_back(1); }));
  EXPECT_TRUE(refused([](Json& bad) { bad["probes"][0]["pairs"]["b"] = "x"; }));
  EXPECT_TRUE(refused([](Json& bad) { bad["order_seed"] = "x"; }));
}

}  // namespace
}  // namespace sluice::gate::bisect_record_test
