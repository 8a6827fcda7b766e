// tests/report/mixture_test.cpp - what is said of batch times, against numbers worked out by hand.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/analysis.h"
#include "sluice/analysis/mixture/shares.h"
#include "sluice/report/mixture/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/mixture_batches.h"
#include <numeric>
#include <random>

namespace sluice::report::mixture_test {
namespace {

using fixtures::batch;
using fixtures::Counts;
using results::BatchTime;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two to warm up, then dominants b a a c b a: 5 switches of 5 neighbours less the one that stays.
std::vector<BatchTime> by_hand() {
  std::vector<BatchTime> batches = {batch(0, true, 9, {{"a", 4}}),
                                    batch(1, true, 8, {{"d", 1}, {"a", 3}}),
                                    batch(2, false, 0.4, {{"a", 1}, {"b", 3}}),
                                    batch(3, false, 0.2, {{"a", 2}, {"b", 2}}),
                                    batch(4, false, 0.1, {{"a", 4}}),
                                    batch(5, false, 1.0, {{"c", 3}, {"b", 1}}),
                                    batch(6, false, 0.3, {{"b", 4}}),
                                    batch(7, false, 0.5, {{"a", 3}, {"c", 1}})};
  results::mark_dominants(batches);
  return batches;
}

TEST(MixtureAnalysisTest, OverallByHand) {
  const auto found = analysis::analyse_mixture(by_hand());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->warmup_batches, 2U);
  EXPECT_EQ(found->time.n, 6U);
  EXPECT_NEAR(found->time.mean, 2.5 / 6, 1e-12);
  EXPECT_NEAR(found->time.p50, 0.35, 1e-12);
  EXPECT_NEAR(found->time.p90, 0.75, 1e-12);
  EXPECT_NEAR(found->time.p99, 0.975, 1e-12);
  EXPECT_EQ(found->time.max, 1.0);
  EXPECT_NEAR(found->batches_per_s, 6 / 2.5, 1e-12);  // only fetch time
  EXPECT_EQ(found->facts.batch_size, 4);
  EXPECT_NEAR(found->samples_per_s, 4 * 6 / 2.5, 1e-12);
  analysis::MixtureFacts facts;
  facts.batch_size = 64;
  EXPECT_NEAR(analysis::analyse_mixture(by_hand(), facts)->samples_per_s, 64 * 6 / 2.5, 1e-12);
}

TEST(MixtureAnalysisTest, DominantsSwitchesAndGapsByHand) {
  const auto found = analysis::analyse_mixture(by_hand());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->dominants.size(), 3U);
  EXPECT_EQ(found->dominants[0].name, "c");  // the slowest
  EXPECT_EQ(found->dominants[0].first_seen, 5U);
  EXPECT_EQ(found->dominants[1].name, "b");
  EXPECT_EQ(found->dominants[1].first_seen, 2U);
  EXPECT_NEAR(found->dominants[1].time.mean, 0.35, 1e-12);
  EXPECT_EQ(found->dominants[2].name, "a");  // batches 3, 4, 7
  EXPECT_EQ(found->dominants[2].time.n, 3U);
  EXPECT_EQ(found->dominants[2].first_seen, 0U);  // in the warm-up
  EXPECT_NEAR(found->switch_rate, 4.0 / 5, 1e-12);
  EXPECT_EQ(found->switched.n, 4U);
  EXPECT_NEAR(found->switched.mean, 0.5, 1e-12);  // batches 3, 5, 6, 7
  EXPECT_EQ(found->stayed.n, 1U);
  EXPECT_NEAR(found->stayed.mean, 0.1, 1e-12);
  EXPECT_EQ(found->first_time.n, 3U);  // 2, 3, 5
  EXPECT_EQ(found->returned.n, 3U);    // gaps 1 (a), 4 (b), 3 (a)
  EXPECT_NEAR(found->mean_gap, 8.0 / 3, 1e-12);
  EXPECT_NEAR(found->p90_gap, 3.8, 1e-12);
  EXPECT_EQ(found->gaps[0].time.n, 3U);
  EXPECT_EQ(found->gaps[1].time.n, 0U);
  ASSERT_EQ(found->slowest.size(), 8U);
  EXPECT_EQ(found->slowest[0].idx, 0U);  // the warm-up counts here
  EXPECT_EQ(found->slowest[2].idx, 5U);
}

TEST(MixtureAnalysisTest, BucketsMeetAtTheirEdges) {
  std::vector<BatchTime> batches;
  for (const std::uint64_t gap : {1U, 4U, 5U, 32U, 33U, 256U, 257U, 9000U}) {
    batches.push_back(batch(batches.size(), false, 1, {{"a", 1}}));
    batches.back().dominant_dataset = "a";
    batches.back().dominant_gap_batches = gap;
  }
  const auto found = analysis::analyse_mixture(batches);
  for (const analysis::GapBucket& bucket : found->gaps)
    EXPECT_EQ(bucket.time.n, 2U) << bucket.least;
}

TEST(MixtureAnalysisTest, UnknownDominantsAreLeftOutOfTheRate) {
  std::vector<BatchTime> batches = {batch(0, false, 1, {{"a", 1}}), batch(1, false, 1, {}),
                                    batch(2, false, 1, {{"a", 1}}), batch(3, false, 1, {{"b", 1}})};
  results::mark_dominants(batches);
  EXPECT_EQ(analysis::dominant_switch_rate(batches), 0.5);
  EXPECT_EQ(
      analysis::dominant_switch_rate(std::vector<BatchTime>(batches.begin(), batches.begin() + 1)),
      0);
  const auto off = analysis::analyse_mixture(std::vector<BatchTime>{batch(0, false, 0.5, {})});
  EXPECT_THAT(mixture_text(*off), HasSubstr("measured without metadata"));
}

TEST(MixtureAnalysisTest, UniformDrawsSwitchAsOftenAsTheyShould) {
  const auto batches = fixtures::random_mixture(3000, 29, 1);  // one block a batch
  const double expected = 1 - 1.0 / 29;
  const double error = std::sqrt(expected * (1 - expected) / 2999);
  EXPECT_NEAR(analysis::dominant_switch_rate(batches), expected, 3 * error);
}

analysis::MixtureFacts shares_facts(const char* mix, std::vector<std::uint64_t> samples) {
  analysis::MixtureFacts facts;
  facts.mix = mix;
  facts.mix_block = 4;
  for (std::size_t i = 0; i < samples.size(); ++i)
    facts.sources.push_back({.name = std::string(1, static_cast<char>('a' + i)),
                             .requested = 1.0 / static_cast<double>(samples.size()),
                             .samples = samples[i]});
  return facts;
}

TEST(MixtureAnalysisTest, SharesByHand) {
  // 25 blocks expected of each, 30 and 20 found: chi-square 2 with one degree of freedom.
  auto found = analysis::analyse_mixture(by_hand(), shares_facts("random", {120, 80}));
  ASSERT_TRUE(found->share_test);
  EXPECT_DOUBLE_EQ(found->share_test->chi_square, 2);
  EXPECT_NEAR(found->share_test->p, 0.15729920705, 1e-9);
  EXPECT_NEAR(found->shares[0].realised, 0.6, 1e-12);
  EXPECT_THAT(mixture_text(*found), HasSubstr("a by +10.00 percentage points"));
  EXPECT_THAT(mixture_text(*found), Not(HasSubstr("NOT")));
  EXPECT_NEAR(found->largest_blocks, 5, 1e-12);

  found = analysis::analyse_mixture(by_hand(), shares_facts("random", {4000, 2000}));
  EXPECT_THAT(mixture_text(*found), HasSubstr("NOT the shares that were asked for"));
  found = analysis::analyse_mixture(by_hand(), shares_facts("deficit", {104, 96}));
  EXPECT_THAT(mixture_text(*found), HasSubstr("by 1.00 blocks; the bound of one block is kept"));
  found = analysis::analyse_mixture(by_hand(), shares_facts("deficit", {120, 80}));
  EXPECT_THAT(mixture_text(*found), HasSubstr("the bound of one block is not kept"));
}

TEST(MixtureAnalysisTest, MemoryGrowsByTheSlope) {
  std::vector<BatchTime> batches;
  for (std::uint64_t i = 0; i < 100; ++i) {
    batches.push_back(batch(i, i < 10, 1, {{"a", 1}}));
    batches.back().rss_bytes = 1'000'000 + 50 * i + (i % 2) * 8;
  }
  const auto found = analysis::analyse_mixture(batches);
  ASSERT_TRUE(found->memory_growth);
  EXPECT_NEAR(found->memory_growth->point, 50'000, 100);
  EXPECT_LE(found->memory_growth->low, found->memory_growth->point);
  EXPECT_THAT(mixture_text(*found), HasSubstr("KB per 1,000 batches"));
  EXPECT_THAT(mixture_text(*analysis::analyse_mixture(by_hand())),
              HasSubstr("memory was not recorded"));
}

TEST(MixtureAnalysisTest, DominanceIsByWeightAndTiesAreTies) {
  analysis::MixtureFacts facts;
  facts.sources = {{"a", 0.5, 0, 0, 0}, {"b", 0.25, 0, 0, 0}, {"c", 0.25, 0, 0, 0}};
  std::vector<BatchTime> batches = {
      batch(0, true, 9, {{"c", 8}}),
      batch(1, false, 0.1, {{"a", 4}, {"b", 2}, {"c", 2}}),  // as asked for: all three tie
      batch(2, false, 0.2, {{"a", 4}, {"b", 4}}),            // as many, but b had half the share
      batch(3, false, 0.4, {{"c", 6}, {"a", 2}}),
      batch(4, false, 0.3, {{"b", 4}, {"c", 4}}),
      batch(5, false, 0.6, {{"b", 5}, {"c", 3}})};
  results::mark_dominants(batches);
  const auto found = analysis::analyse_mixture(batches, facts);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->weighted);
  EXPECT_EQ(found->weighted->batches, 5U);
  EXPECT_EQ(found->weighted->decided, 3U);
  EXPECT_NEAR(found->weighted->mean_tied, (3 + 1 + 1 + 2 + 1) / 5.0, 1e-12);
  ASSERT_TRUE(found->weighted->switch_rate);
  EXPECT_EQ(*found->weighted->switch_rate, 1) << "b, then c; the tie between c and b breaks it";
  const auto& rows = found->weighted->rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "b");
  EXPECT_EQ(rows[0].alone, 2U);
  EXPECT_EQ(rows[0].tied, 2U);
  EXPECT_EQ(rows[0].by_count, 2U) << "batches 4 and 5: of equal counts the first";
  EXPECT_NEAR(rows[0].mean_s, (0.1 + 0.2 + 0.3 + 0.6) / 4, 1e-12);
  EXPECT_EQ(rows[1].name, "c");
  EXPECT_EQ(rows[1].alone, 1U);
  EXPECT_EQ(rows[2].name, "a");
  EXPECT_EQ(rows[2].alone, 0U);
  EXPECT_EQ(rows[2].tied, 1U);
  EXPECT_EQ(rows[2].by_count, 2U) << "the seed of this definition names a twice";
  EXPECT_THAT(mixture_text(*found), HasSubstr("3 of 5 batches have one dominant data set"));
  EXPECT_FALSE(analysis::analyse_mixture(batches)->weighted) << "no shares are known";
}

TEST(MixtureAnalysisTest, BottlenecksAreTheDataSetsThatTakeMostTime) {
  analysis::MixtureFacts facts;
  facts.sources = {{"cheap", 0.75, 90, 0, 0, 90, 80, 0.9, 0.8},
                   {"dear", 0.25, 30, 4, 0, 30, 25, 3.0, 5.0}};
  const auto found = analysis::analyse_mixture(by_hand(), facts);
  ASSERT_EQ(found->bottlenecks.size(), 2U);
  const analysis::BottleneckRow& first = found->bottlenecks[0];
  EXPECT_EQ(first.name, "dear");
  EXPECT_NEAR(first.read_ms, 100, 1e-9);
  EXPECT_NEAR(first.decode_ms, 200, 1e-9);
  EXPECT_NEAR(first.share, 8 / 9.7, 1e-12);
  EXPECT_NEAR(first.of_samples, 0.25, 1e-12);
  EXPECT_EQ(first.starved, 4U);
  EXPECT_THAT(mixture_text(*found), HasSubstr("Bottlenecks"));
  EXPECT_THAT(mixture_text(*analysis::analyse_mixture(by_hand())), Not(HasSubstr("Bottlenecks")));
}

TEST(MixtureAnalysisTest, OnlyWarmUpIsRefused) {
  const auto found =
      analysis::analyse_mixture(std::vector<BatchTime>{batch(0, true, 1, {{"a", 1}})});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("Not enough measured batches"));
  EXPECT_FALSE(analysis::analyse_mixture({}));
}

TEST(MixtureAnalysisTest, FactsAreReadFromTheLoadersStats) {
  const auto facts = analysis::mixture_facts(Json::parse(
      R"({"start_s":0.25,"cpu_s":{"read":1.5,"decode":3},"sources":[{"name":"a","requested":0.5,
          "samples":12,"starved":2,"bad_records":1,"bad_images":3}, 7]})"));
  ASSERT_EQ(facts.sources.size(), 1U);
  EXPECT_EQ(facts.sources[0].bad, 4U);
  EXPECT_EQ(facts.start_s, 0.25);
  ASSERT_EQ(facts.stage_cpu_s.size(), 2U);
  EXPECT_EQ(facts.stage_cpu_s[1].first, "decode");
  EXPECT_THAT(mixture_text(*analysis::analyse_mixture(by_hand(), facts)), HasSubstr("66.7 %"));
  EXPECT_TRUE(analysis::mixture_facts(Json(3)).sources.empty());
}

TEST(MixtureSharesTest, SumToOneWhateverIsLeftToOther) {
  const auto batches = fixtures::random_mixture(157, 29, 16);
  for (const std::size_t top_k : {1U, 8U, 28U, 29U, 40U}) {
    const auto shares = analysis::mixture_shares(batches, top_k);
    ASSERT_TRUE(shares) << shares.error().message;
    EXPECT_EQ(shares->has_other, top_k < 29);
    EXPECT_EQ(shares->names.size(), std::min<std::size_t>(29, top_k + 1));
    for (std::size_t i = 0; i < shares->batches; ++i) {
      double sum = 0;
      for (const auto& series : shares->series)
        sum += analysis::rolling_mean(series, 25)[i];
      ASSERT_NEAR(sum, 1, 1e-9);
    }
    EXPECT_NEAR(std::accumulate(shares->mean.begin(), shares->mean.end(), 0.0), 1, 1e-9);
  }
}

TEST(MixtureSharesTest, TheMeanIsCutOffAtTheEnds) {
  EXPECT_EQ(analysis::rolling_mean({1, 2, 3, 6}, 1), (std::vector<double>{1, 2, 3, 6}));
  EXPECT_EQ(analysis::rolling_mean({1, 2, 3, 6}, 2), (std::vector<double>{1.5, 2, 11.0 / 3, 4.5}));
  EXPECT_EQ(analysis::rolling_mean({1, 2, 3, 6}, 3), analysis::rolling_mean({1, 2, 3, 6}, 2));
  EXPECT_EQ(analysis::rolling_mean({1, 2, 3, 6}, 99), (std::vector<double>(4, 3)));
  EXPECT_TRUE(analysis::rolling_mean({}, 5).empty());
}

TEST(MixtureSummaryTest, ToTheLetter) {
  MixtureDrawing drawing;
  drawing.top_k = 2;
  const auto text = mixture_summary(by_hand(), drawing);
  ASSERT_TRUE(text) << text.error().message;
  // a: (.25 + .5 + 1 + 0 + 0 + .75) / 6; b: (.75 + .5 + 0 + .25 + 1 + 0) / 6, equal: by name.
  EXPECT_EQ(*text,
            "Mixture summary\n"
            "================\n"
            "measured_batches: 6\n"
            "unique_dominant_datasets: 3\n"
            "dominant_switch_rate: 0.8000\n"
            "top_datasets:\n"
            "  - a: 0.4167\n"
            "  - b: 0.4167\n");
  EXPECT_FALSE(mixture_summary({}, drawing));
}

}  // namespace
}  // namespace sluice::report::mixture_test
