// tests/loader/mixture_test.cpp - mixed batches: what they hold, shares, order, resume, one pass.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/mixture.h"

#include "sluice/image/codec.h"
#include "sluice/image/resize/resize.h"
#include "sluice/loader/episodes/episode.h"

#include "tests/loader/mixture_fixture.h"
#include <map>
#include <set>

namespace sluice::loader::mixture::mixture_test {
namespace {

class MixtureTest : public MixtureFixture {
 protected:
  /// Sample i of the batch against what its record says, read by itself.
  void expect_true(const MixtureBatch& batch, std::size_t i, const std::vector<SourceSpec>& specs) {
    const SourceSpec& spec = specs[batch.source[i]];
    const std::string& id = batch.full.episode_id[i];
    const auto record_number = std::stoull(id.substr(id.rfind(':') + 1));
    const std::string file = id.substr(spec.name.size() + 1, id.rfind(':') - spec.name.size() - 1);
    const auto slice = std::find_if(
        spec.dataset->shards.begin(), spec.dataset->shards.end(),
        [&](const auto& s) { return s.file.key.substr(s.file.key.rfind('/') + 1) == file; });
    ASSERT_NE(slice, spec.dataset->shards.end()) << id;
    storage::RecordReader reader(*store_, slice->file);
    for (std::uint64_t k = 0; k < record_number; ++k)
      ASSERT_TRUE(*reader.skip());
    const auto record = *reader.next();
    const episodes::FeatureTable& features = spec.dataset->features;
    episodes::Episode episode;
    ASSERT_TRUE(episode.parse(record->payload, features));
    const auto t = static_cast<std::size_t>(batch.full.frame[i]);
    const auto offset = static_cast<std::size_t>(batch.full.offset[i]);
    EXPECT_EQ(batch.full.offset[i], spec.offset);
    expect_images(batch, i, episode, *features.require(spec.image), t, offset);
    expect_numbers(batch, i, spec, episode, t, offset);
    EXPECT_EQ(batch.full.language[i],
              *step_text(episode, features, *features.require(spec.language), t));
    EXPECT_EQ(batch.full.robot[i], spec.name + " robot");
  }

  static void expect_images(const MixtureBatch& batch, std::size_t i, episodes::Episode& episode,
                            std::size_t feature, std::size_t t, std::size_t offset) {
    const auto side = static_cast<std::size_t>(batch.image_size);
    for (std::size_t which = 0; which < 2; ++which) {
      const auto bytes = *episode.bytes(feature, t + which * offset);
      image::Image decoded, resized;
      ASSERT_TRUE(image::decode(
          decoded, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
      ASSERT_TRUE(resized.resize_for(batch.image_size, batch.image_size, 3));
      image::resize_bilinear_reference(resized.span<std::uint8_t>(), decoded.view<std::uint8_t>());
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t y = 0; y < side; ++y)
          for (std::size_t x = 0; x < side; ++x) {
            const int got = batch.images[(((i * 3 + c) * 2 + which) * side + y) * side + x];
            const int want = resized.view<std::uint8_t>().at(
                static_cast<int>(x), static_cast<int>(y), static_cast<int>(c));
            ASSERT_LE(std::abs(got - want), 1);
          }
    }
  }

  static void expect_numbers(const MixtureBatch& batch, std::size_t i, const SourceSpec& spec,
                             episodes::Episode& episode, std::size_t t, std::size_t offset) {
    const episodes::FeatureTable& features = spec.dataset->features;
    ASSERT_EQ(batch.full.action_size, 4);
    ASSERT_EQ(batch.full.state_size, 3);
    std::vector<float> action(4), state(3);
    if (!spec.action.empty())
      for (std::size_t step = t; step < t + offset; ++step) {
        const auto values = *episode.floats(*features.require(spec.action), step);
        for (std::size_t k = 0; k < values.size(); ++k)
          action[k] += values[k];
      }
    if (!spec.state.empty()) {
      const auto values = *episode.floats(*features.require(spec.state), t);
      std::copy(values.begin(), values.end(), state.begin());
    }
    EXPECT_TRUE(std::equal(action.begin(), action.end(),
                           batch.full.action.begin() + static_cast<std::ptrdiff_t>(4 * i)));
    EXPECT_TRUE(std::equal(state.begin(), state.end(),
                           batch.full.state.begin() + static_cast<std::ptrdiff_t>(3 * i)));
  }
};

TEST_F(MixtureTest, BatchesHoldWhatTheirEpisodesSay) {
  auto mixture = Mixture::open(sources(), options());
  ASSERT_TRUE(mixture) << mixture.error().message;
  std::set<std::uint32_t> seen;
  for (int b = 0; b < 6; ++b) {
    const auto batch = (*mixture)->next();
    ASSERT_TRUE(batch) << batch.error().message;
    EXPECT_EQ((*batch)->index, static_cast<std::uint64_t>(b));
    ASSERT_EQ((*batch)->size, 8);
    ASSERT_EQ((*batch)->images.size(), std::size_t{8} * 3 * 2 * 16 * 16);
    for (std::size_t i = 0; i < 8; ++i) {
      expect_true(**batch, i, (*mixture)->sources());
      seen.insert((*batch)->source[i]);
      EXPECT_EQ((*batch)->source[i], (*batch)->source[i / 2 * 2]) << "blocks of two";
    }
  }
  EXPECT_EQ(seen.size(), 3U);
}

TEST_F(MixtureTest, TheScheduleDependsOnNothingButTheSeed) {
  std::vector<std::string> first;
  for (const int threads : {1, 2, 5}) {
    auto asked = options();
    asked.read_threads = threads;
    asked.decode_threads = threads;
    asked.queue = threads;
    auto mixture = Mixture::open(sources(), asked);
    ASSERT_TRUE(mixture);
    const auto all = ids(**mixture, 20);
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << threads;
  }
  auto other = options();
  other.seed = 6;
  EXPECT_NE(ids(**Mixture::open(sources(), other), 20), first);
}

TEST_F(MixtureTest, SharesStayWithinOneBlockOfThoseAskedFor) {
  auto mixture = Mixture::open(sources(), options());
  ASSERT_TRUE(mixture);
  for (int b = 1; b <= 60; ++b) {
    ASSERT_TRUE((*mixture)->next());
    const MixtureStats stats = (*mixture)->stats();
    ASSERT_EQ(stats.samples, static_cast<std::uint64_t>(8 * b));
    for (const SourceStats& source : stats.sources)
      EXPECT_LE(std::abs(static_cast<double>(source.samples) -
                         source.requested * static_cast<double>(stats.samples)),
                2.0)
          << source.name;
  }
}

TEST_F(MixtureTest, ResumeGoesOnWithTheVeryNextBatch) {
  for (const Mix mix : {Mix::deficit, Mix::random})
    for (const int per_episode : {0, 1, 3}) {
      auto asked = options();
      asked.mix = mix;
      asked.samples_per_episode = per_episode;
      auto whole = Mixture::open(sources(), asked);
      ASSERT_TRUE(whole);
      (void)ids(**whole, 13);
      const Json state = *parse_json(dump_json((*whole)->state()), "state");
      const auto rest = ids(**whole, 15);
      asked.read_threads = 4;
      auto resumed = Mixture::open(sources(), asked, state);
      ASSERT_TRUE(resumed) << resumed.error().message;
      EXPECT_EQ(ids(**resumed, 15), rest) << to_string(mix) << " " << per_episode;
      asked.seed = 99;
      EXPECT_THAT(Mixture::open(sources(), asked, state).error().message,
                  ::testing::HasSubstr("other data sets or options"));
      EXPECT_FALSE(Mixture::open(sources(), asked, Json::array()));
    }
}

TEST_F(MixtureTest, OnePassGivesEveryPairOnceWhateverTheThreads) {
  for (const bool deterministic : {true, false}) {
    auto asked = options();
    asked.one_pass = true;
    asked.samples_per_episode = 0;
    asked.deterministic = deterministic;
    auto mixture = Mixture::open(sources("train[90%:]"), asked);
    ASSERT_TRUE(mixture) << mixture.error().message;
    std::multiset<std::string> seen;
    while (true) {
      const auto batch = (*mixture)->next();
      ASSERT_TRUE(batch) << batch.error().message;
      if (*batch == nullptr) break;
      for (const auto& id : ids(**batch))
        seen.insert(id);
    }
    std::size_t pairs = 0;
    for (const SourceSpec& spec : (*mixture)->sources()) {
      episodes::EpisodeReader reader(*spec.dataset);
      episodes::Episode episode;
      while (const auto record = *reader.next()) {
        ASSERT_TRUE(episode.parse(record->payload, spec.dataset->features));
        pairs += episode.steps() - static_cast<std::size_t>(spec.offset);
      }
    }
    EXPECT_EQ(seen.size(), pairs);
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), pairs) << "none twice";
    EXPECT_EQ(*(*mixture)->next(), nullptr) << "and stays at the end";
  }
}

TEST_F(MixtureTest, SamplesPerEpisodeAndTheirOrder) {
  for (const int per_episode : {1, 2, 5}) {
    auto asked = options();
    asked.one_pass = true;
    asked.samples_per_episode = per_episode;
    asked.shuffle_pairs = false;
    auto mixture = Mixture::open(sources(), asked);
    ASSERT_TRUE(mixture);
    std::map<std::string, std::vector<std::int64_t>> frames;
    while (const MixtureBatch* batch = *(*mixture)->next())
      for (std::size_t i = 0; i < static_cast<std::size_t>(batch->size); ++i)
        frames[batch->full.episode_id[i]].push_back(batch->full.frame[i]);
    EXPECT_EQ(frames.size(), 60U);
    for (const auto& [episode, taken] : frames) {
      EXPECT_LE(taken.size(), static_cast<std::size_t>(per_episode));
      for (std::size_t i = 0; i < taken.size(); ++i)
        EXPECT_EQ(taken[i], static_cast<std::int64_t>(i)) << episode;
    }
  }
  auto shuffled = options();
  shuffled.one_pass = true;
  auto mixture = Mixture::open(sources(), shuffled);
  std::set<std::int64_t> firsts;
  while (const MixtureBatch* batch = *(*mixture)->next())
    firsts.insert(batch->full.frame.begin(), batch->full.frame.end());
  EXPECT_GT(firsts.size(), 5U) << "not always the first pair";
}

TEST_F(MixtureTest, MetadataIsWhatWasAskedFor) {
  auto asked = options();
  asked.metadata = Metadata::dataset_only;
  auto named = Mixture::open(sources(), asked);
  const MixtureBatch* batch = *(*named)->next();
  EXPECT_EQ(batch->source.size(), 8U);
  EXPECT_TRUE(batch->full.language.empty());
  asked.metadata = Metadata::off;
  auto off = Mixture::open(sources(), asked);
  batch = *(*off)->next();
  EXPECT_TRUE(batch->source.empty());
  EXPECT_EQ((*named)->stats().schedule_hash, (*off)->stats().schedule_hash)
      << "the same samples whatever is told of them";
}

TEST_F(MixtureTest, WhatItUsedIsAccountedFor) {
  auto mixture = Mixture::open(sources(), options());
  (void)ids(**mixture, 5);
  const Json json = to_json((*mixture)->stats());
  for (const char* stage : {"read", "parse", "mix", "decode", "resize", "collate"})
    EXPECT_GT(json["cpu_s"][stage].get<double>(), 0) << stage;
  ASSERT_EQ(json["sources"].size(), 3U);
  for (const Json& source : json["sources"]) {
    EXPECT_GE(source["samples_read"], source["samples_decoded"]) << source["name"];
    EXPECT_GE(source["samples_decoded"], source["samples"]) << source["name"];
    EXPECT_GT(source["read_s"].get<double>(), 0) << source["name"];
    EXPECT_GT(source["decode_s"].get<double>(), 0) << source["name"];
  }
}

TEST_F(MixtureTest, PrimedWithMoreThanAQueueHolds) {
  auto asked = options();  // blocks of 2
  asked.queue = 1;
  asked.prime = 7;
  auto primed = Mixture::open(sources(), asked);
  ASSERT_TRUE(primed) << primed.error().message;
  const auto given = ids(**primed, 3);
  for (const SourceStats& source : (*primed)->stats().sources)
    EXPECT_GE(source.samples_read, 8U) << source.name;
  asked.prime = 0;
  auto plain = Mixture::open(sources(), asked);
  EXPECT_EQ(ids(**plain, 3), given) << "priming reads ahead and leaves nothing out";
  asked.prime = -1;
  EXPECT_FALSE(Mixture::open(sources(), asked));
}

}  // namespace
}  // namespace sluice::loader::mixture::mixture_test
