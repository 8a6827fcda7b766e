// tests/scenario/training_feed_test.cpp - what an engine is fed: shapes, labels, the short batch,
// resume.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenario/toy_dataset.h"
#include <set>

namespace sluice::scenario::training_feed_test {
namespace {

using ::testing::HasSubstr;

FeedOptions options_of(FeedUse use, std::uint32_t batch, int workers = 2) {
  FeedOptions options;
  options.loader.batch_size = batch;
  options.loader.workers = workers;
  options.loader.seed = 5;
  options.image = 32;
  options.classes = 3;
  options.use = use;
  return options;
}

std::unique_ptr<TrainingFeed> feed_of(std::shared_ptr<const loader::Dataset> dataset,
                                      const FeedOptions& options) {
  auto feed = TrainingFeed::make(std::move(dataset), options);
  EXPECT_TRUE(feed) << feed.error().message;
  return std::move(*feed);
}

struct Taken {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  std::uint32_t samples = 0;
  friend bool operator==(const Taken&, const Taken&) = default;
};

std::vector<Taken> rest_of(TrainingFeed& feed) {
  std::vector<Taken> all;
  while (true) {
    auto batch = feed.next();
    EXPECT_TRUE(batch) << batch.error().message;
    if (!batch || !*batch) return all;
    EXPECT_GE((*batch)->wait_ns, 0);
    const train::BatchView& view = (*batch)->view;
    all.push_back({{view.images.begin(), view.images.end()},
                   {view.labels.begin(), view.labels.end()},
                   (*batch)->samples});
  }
}

TEST(TrainingFeed, TrainingLeavesOutTheShortBatchAndShufflesAnewEveryEpoch) {
  const auto data = std::make_shared<testing::ToyDataset>(14, 3);
  const auto feed = feed_of(data, options_of(FeedUse::train, 4));
  EXPECT_EQ(feed->steps(), 3U);
  ASSERT_TRUE(feed->start_epoch(0));
  const std::vector<Taken> first = rest_of(*feed);
  ASSERT_EQ(first.size(), 3U);
  for (const Taken& batch : first) {
    EXPECT_EQ(batch.samples, 4U);
    EXPECT_EQ(batch.images.size(), 4U * 3 * 32 * 32);
    for (const std::int32_t label : batch.labels)
      EXPECT_TRUE(label >= 0 && label < 3) << label;
  }
  ASSERT_TRUE(feed->start_epoch(1));
  EXPECT_NE(rest_of(*feed), first);
}

TEST(TrainingFeed, AnEmulatedDeviceGetsBytesWhereThatIsAskedFor) {
  const auto data = std::make_shared<testing::ToyDataset>(8, 3);
  FeedOptions options = options_of(FeedUse::train, 4);
  options.loader.upload = train::PixelType::u8;
  for (const bool emulated : {false, true}) {
    options.emulated_device = emulated;
    const auto feed = feed_of(data, options);
    const auto batch = feed->next_of_any_epoch();
    ASSERT_TRUE(batch) << batch.error().message;
    EXPECT_EQ(batch->pixels.size(), 4U * 3 * 32 * 32 * (emulated ? 1 : sizeof(float)));
  }
}

TEST(TrainingFeed, LabelsBelongToTheirImages) {
  // Class c has the bits of c + 1 as colour: 0 red, 1 green, 2 red and green.
  const auto data = std::make_shared<testing::ToyDataset>(12, 3);
  const auto feed = feed_of(data, options_of(FeedUse::train, 4));
  ASSERT_TRUE(feed->start_epoch(0));
  for (const Taken& batch : rest_of(*feed)) {
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      const float* planes = batch.images.data() + i * 3 * 32 * 32;
      unsigned colour = 0;
      for (unsigned c = 0; c < 3; ++c) {
        double sum = 0;
        for (std::size_t p = 0; p < 32 * 32; ++p)
          sum += planes[c * 32 * 32 + p];
        if (sum / (32 * 32) > -0.2) colour |= 1U << c;  // 170 of 255 against 50, normalised
      }
      EXPECT_EQ(colour, static_cast<unsigned>(batch.labels[i]) + 1);
    }
  }
}

TEST(TrainingFeed, ValidationTakesEverySampleOnceAndFillsUpTheLastBatch) {
  const auto data = std::make_shared<testing::ToyDataset>(10, 3);
  const auto feed = feed_of(data, options_of(FeedUse::validation, 4));
  EXPECT_EQ(feed->steps(), 3U);
  ASSERT_TRUE(feed->start_epoch(0));
  const std::vector<Taken> all = rest_of(*feed);
  ASSERT_EQ(all.size(), 3U);
  const std::vector<std::int32_t> labels{2, 0, -1, -1};  // samples 8 and 9
  EXPECT_EQ(all[2].labels, labels);
  EXPECT_EQ(all[2].samples, 2U);
  ASSERT_EQ(all[2].images.size(), 4U * 3 * 32 * 32);
  EXPECT_NE(all[2].images[0], 0.0F);
  for (std::size_t i = 2 * 3 * 32 * 32; i < all[2].images.size(); ++i)
    ASSERT_EQ(all[2].images[i], 0.0F);
  ASSERT_TRUE(feed->start_epoch(0));
  EXPECT_EQ(rest_of(*feed), all) << "validation draws nothing";
}

TEST(TrainingFeed, GoesOnWhereItWasWithAnyNumberOfWorkers) {
  const auto data = std::make_shared<testing::ToyDataset>(20, 3);
  const auto whole = feed_of(data, options_of(FeedUse::train, 4, 2));
  ASSERT_TRUE(whole->start_epoch(3));
  ASSERT_TRUE(whole->next());
  ASSERT_TRUE(whole->next());
  const loader::LoaderState state = whole->state();
  const std::vector<Taken> wanted = rest_of(*whole);
  ASSERT_EQ(wanted.size(), 3U);
  const auto resumed = feed_of(data, options_of(FeedUse::train, 4, 0));
  ASSERT_TRUE(resumed->restore(state));
  EXPECT_EQ(rest_of(*resumed), wanted);
  EXPECT_EQ(resumed->steps(), 5U) << "of a whole epoch";
}

TEST(TrainingFeed, RanksShareAnEpochAndNoSampleIsTwiceOrMissing) {
  // A label of its own tells every sample. 23 is divided by none of these.
  constexpr int kSamples = 23;
  const auto data = std::make_shared<testing::ToyDataset>(kSamples, kSamples);
  for (const FeedUse use : {FeedUse::train, FeedUse::validation})
    for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 7U, 11U}) {
      std::multiset<std::int32_t> seen;
      std::set<std::uint64_t> steps;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        FeedOptions options = options_of(use, 2, 1);
        options.classes = kSamples;
        options.loader.rank = rank;
        options.loader.ranks = ranks;
        const auto feed = feed_of(data, options);
        ASSERT_TRUE(feed->start_epoch(3));
        const std::vector<Taken> all = rest_of(*feed);
        steps.insert(all.size());
        EXPECT_LE(all.size(), feed->steps());
        for (const Taken& batch : all)
          for (const std::int32_t label : batch.labels)
            if (label >= 0) seen.insert(label);
      }
      const std::size_t whole = kSamples / (2 * ranks) * 2 * ranks;  // of training: whole steps
      EXPECT_EQ(seen.size(), use == FeedUse::train ? whole : kSamples) << ranks;
      EXPECT_EQ(std::set<std::int32_t>(seen.begin(), seen.end()).size(), seen.size()) << ranks;
      if (use == FeedUse::train) {
        EXPECT_EQ(steps.size(), 1U) << "all ranks take as many";
      }
    }
}

TEST(TrainingFeed, RefusesMissingLabelsUnlessTheyMayStandIn) {
  const auto data = std::make_shared<testing::ToyDataset>(6, 3);
  data->labelled = false;
  FeedOptions options = options_of(FeedUse::train, 2);
  const auto refused = TrainingFeed::make(data, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_input);
  EXPECT_THAT(refused.error().message, HasSubstr("class0/0.png: has no label"));
  options.stand_in_labels = true;
  const auto feed = feed_of(data, options);
  ASSERT_TRUE(feed->start_epoch(0));
  std::multiset<std::int32_t> seen;
  for (const Taken& batch : rest_of(*feed))
    seen.insert(batch.labels.begin(), batch.labels.end());
  EXPECT_EQ(seen, (std::multiset<std::int32_t>{0, 0, 1, 1, 2, 2}));
}

TEST(TrainingFeed, RefusesALabelThatTheModelHasNot) {
  FeedOptions options = options_of(FeedUse::train, 2);
  options.classes = 2;
  const auto refused = TrainingFeed::make(std::make_shared<testing::ToyDataset>(6, 3), options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("class2/2.png: has label 2; the model has 2"));
}

TEST(DatasetClasses, AreTheFolders) {
  testing::ToyDataset data(7, 3);
  const DatasetClasses classes = classes_of(data);
  EXPECT_EQ(classes.count, 3);
  EXPECT_EQ(classes.unlabelled, 0U);
  EXPECT_EQ(classes.names, (std::vector<std::string>{"class0", "class1", "class2"}));
  data.labelled = false;
  EXPECT_EQ(classes_of(data).count, 0);
  EXPECT_EQ(classes_of(data).unlabelled, 7U);
}

TEST(DatasetDigest, TellsNamesLabelsAndNumber) {
  testing::ToyDataset data(7, 3);
  EXPECT_EQ(digest_of(data), digest_of(testing::ToyDataset(7, 3)));
  EXPECT_NE(digest_of(data), digest_of(testing::ToyDataset(8, 3)));
  EXPECT_NE(digest_of(data), digest_of(testing::ToyDataset(7, 2)));
}

}  // namespace
}  // namespace sluice::scenario::training_feed_test
