// tests/loader/loader_test.cpp - content and order for any number of workers, resume, errors.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/loader.h"

#include <gtest/gtest.h>

#include "tests/loader/support.h"
#include <algorithm>
#include <memory>
#include <numeric>

namespace sluice::loader::loader_test {
namespace {

using testing::must_make;
using testing::NumberDataset;
using testing::NumberRecipe;
using testing::Seen;
using testing::take;

LoaderOptions options_for(int workers, std::uint32_t batch = 7) {
  LoaderOptions options;
  options.batch_size = batch;
  options.workers = workers;
  options.prefetch = 3;
  options.seed = 11;
  return options;
}

auto numbers(std::uint64_t size) {
  return std::make_shared<NumberDataset>(size, std::vector<std::uint64_t>{0, size / 3});
}

class AnyWorkers : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Loader, AnyWorkers, ::testing::Values(0, 1, 2, 5, 16));

TEST_P(AnyWorkers, GiveTheContentThatKeyAndOrderSay) {
  for (const Shuffle shuffle : {Shuffle::none, Shuffle::full, Shuffle::windowed, Shuffle::shards}) {
    LoaderOptions options = options_for(GetParam());
    options.shuffle = shuffle;
    options.window = 20;
    options.drop_last = false;
    const auto dataset = numbers(100);
    const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options);
    for (const std::uint64_t epoch : {0U, 1U, 5U}) {
      ASSERT_TRUE(loader->start_epoch(epoch));
      const Seen seen = take(*loader);
      const EpochOrder order(100, dataset->shard_starts(), {shuffle, 20, 11}, epoch);
      ASSERT_EQ(seen.indices.size(), 15U);
      ASSERT_EQ(seen.indices.back().size(), 2U);
      const auto flat = seen.all();
      for (std::uint64_t i = 0; i < flat.size(); ++i) {
        ASSERT_EQ(flat[i], order[i]);
        const auto want = NumberRecipe::content({11, epoch, flat[i]});
        ASSERT_EQ(std::memcmp(seen.bytes[i / 7].data() + i % 7 * 16, want.data(), 16), 0);
        ASSERT_EQ(seen.labels[i / 7][i % 7], static_cast<std::int64_t>(flat[i] % 10));
      }
    }
  }
}

TEST_P(AnyWorkers, DropTheLastBatchWhenAsked) {
  const auto loader =
      must_make(numbers(100), std::make_shared<NumberRecipe>(), options_for(GetParam()));
  EXPECT_EQ(take(*loader).indices.size(), 14U);
  EXPECT_EQ(take(*loader).indices.size(), 0U);  // stays at the end
}

TEST(LoaderWait, IsGivenUpWhenTheConsumerSaysSoAndTheNextCallGoesOn) {
  const auto dataset = numbers(100);
  dataset->blocked = {3};
  LoaderOptions options = options_for(2);
  options.shuffle = Shuffle::none;
  const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options);
  int asked = 0;
  const auto refused = loader->next([&] { return ++asked < 2; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::interrupted);
  EXPECT_EQ(refused.error().message, "the wait for a batch was given up");
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(loader->state().consumed, 0U);
  dataset->let_go();
  EXPECT_EQ(take(*loader).indices.size(), 14U);  // nothing was lost
}

TEST_P(AnyWorkers, ThreadsMayEndWithTheEpoch) {
  LoaderOptions options = options_for(GetParam());
  options.persistent_workers = false;
  const auto dataset = numbers(100);
  const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options);
  const auto other = must_make(dataset, std::make_shared<NumberRecipe>(), options_for(2));
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    ASSERT_TRUE(loader->start_epoch(epoch));
    ASSERT_TRUE(other->start_epoch(epoch));
    EXPECT_EQ(take(*loader), take(*other));
  }
}

TEST_P(AnyWorkers, ResumeWhereTheStateSays) {
  const auto dataset = numbers(500);
  const auto recipe = std::make_shared<NumberRecipe>();
  LoaderOptions whole = options_for(2, 8);
  whole.drop_last = false;
  const auto first = must_make(dataset, recipe, whole);
  ASSERT_TRUE(first->start_epoch(4));
  const auto all = take(*first).all();
  ASSERT_TRUE(first->start_epoch(4));
  (void)take(*first, 9);  // 72 samples
  const Json saved = to_json(first->state());
  const LoaderState state = state_from_json(parse_json(dump_json(saved), "state").value()).value();
  EXPECT_EQ(state.consumed, 72U);

  for (const std::uint32_t batch : {8U, 5U, 64U}) {
    LoaderOptions options = whole;
    options.workers = GetParam();
    options.batch_size = batch;
    const auto second = must_make(dataset, recipe, options);
    ASSERT_TRUE(second->restore(state));
    const auto rest = take(*second).all();
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + 72, all.end()));
    ASSERT_TRUE(second->start_epoch(5));  // and from then on as if nothing had happened
    ASSERT_TRUE(first->start_epoch(5));
    EXPECT_EQ(take(*second).all(), take(*first).all());
  }
}

TEST(Loader, ResumesWithOtherRanks) {
  const auto dataset = numbers(480);
  const auto recipe = std::make_shared<NumberRecipe>();
  const auto with_rank = [&](std::uint32_t rank, std::uint32_t ranks) {
    LoaderOptions options = options_for(2, 8);
    options.rank = rank;
    options.ranks = ranks;
    return must_make(dataset, recipe, options);
  };
  const auto alone = with_rank(0, 1);
  const auto all = take(*alone).all();

  // Three ranks take four steps, then two ranks take the rest: together the order of the epoch.
  std::vector<std::uint64_t> together;
  std::vector<std::unique_ptr<Loader>> three, two;
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    three.push_back(with_rank(rank, 3));
  for (int step = 0; step < 4; ++step)
    for (auto& loader : three) {
      const auto part = take(*loader, 1).all();
      together.insert(together.end(), part.begin(), part.end());
    }
  EXPECT_EQ(three[0]->state(), three[2]->state());
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    two.push_back(with_rank(rank, 2));
    ASSERT_TRUE(two.back()->restore(three[1]->state()));
  }
  for (std::uint64_t step = 0; step < two[0]->steps(); ++step)
    for (auto& loader : two) {
      const auto part = take(*loader, 1).all();
      together.insert(together.end(), part.begin(), part.end());
    }
  EXPECT_EQ(together, all);
}

TEST(Loader, RefusesAForeignState) {
  const auto loader = must_make(numbers(100), std::make_shared<NumberRecipe>(), options_for(1));
  LoaderState state = loader->state();
  state.seed = 12;
  const auto seed = loader->restore(state);
  ASSERT_FALSE(seed);
  EXPECT_EQ(seed.error().message, "the state was saved with seed 12, this loader has 11");
  state = loader->state();
  state.dataset_size = 99;
  EXPECT_EQ(loader->restore(state).error().message,
            "the state was saved with a dataset of 99, this loader has 100");
  EXPECT_FALSE(state_from_json(Json{{"version", 2}}));
  EXPECT_FALSE(state_from_json(Json::array()));
  Json json = to_json(loader->state());
  json["consumed"] = 101;
  EXPECT_FALSE(state_from_json(json));
}

TEST(Loader, AfterTheEndTheStateIsTheEnd) {
  const auto loader = must_make(numbers(100), std::make_shared<NumberRecipe>(), options_for(2));
  (void)take(*loader);
  EXPECT_EQ(loader->state().consumed, 100U);  // also what was dropped
  const auto other = must_make(numbers(100), std::make_shared<NumberRecipe>(), options_for(1, 2));
  ASSERT_TRUE(other->restore(loader->state()));
  EXPECT_TRUE(take(*other).indices.empty());
}

TEST(Loader, EpochsAheadAreTheSameEpochs) {
  LoaderOptions ahead = options_for(3), apart = options_for(3);
  apart.next_epoch_ahead = false;
  ahead.prefetch = 40;  // two epochs and more
  const auto a = must_make(numbers(100), std::make_shared<NumberRecipe>(), ahead);
  const auto b = must_make(numbers(100), std::make_shared<NumberRecipe>(), apart);
  for (const std::uint64_t epoch : {0U, 1U, 2U, 7U, 8U, 3U}) {
    ASSERT_TRUE(a->start_epoch(epoch));
    ASSERT_TRUE(b->start_epoch(epoch));
    EXPECT_EQ(take(*a), take(*b)) << epoch;
  }
  ASSERT_TRUE(a->start_epoch(9));
  (void)take(*a, 3);
  ASSERT_TRUE(a->start_epoch(9));  // again from the beginning
  ASSERT_TRUE(b->start_epoch(9));
  EXPECT_EQ(take(*a), take(*b));
}

TEST_P(AnyWorkers, TheNextSampleStandsInForACorruptOne) {
  LoaderOptions options = options_for(GetParam(), 10);
  options.on_error = OnError::skip;
  options.shuffle = Shuffle::none;
  const auto recipe = std::make_shared<NumberRecipe>();
  recipe->corrupt = {3, 40, 41, 99};
  const auto loader = must_make(numbers(100), recipe, options);
  const auto all = take(*loader).all();
  ASSERT_EQ(all.size(), 100U);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t want = i == 3 ? 4 : i == 40 || i == 41 ? 42 : i == 99 ? 0 : i;
    EXPECT_EQ(all[i], want);
  }
  loader->stop();
  const LoaderStats stats = loader->stats();
  EXPECT_GE(stats.skipped, 5U);  // 41 twice; more where the next epoch was begun
  ASSERT_FALSE(stats.skipped_samples.empty());
  EXPECT_EQ(stats.skipped_samples.front().index, 3U);
  EXPECT_EQ(stats.skipped_samples.front().name, "n/3");
  EXPECT_EQ(stats.skipped_samples.front().reason, "not a number");
}

TEST_P(AnyWorkers, ACorruptSampleEndsAStrictEpoch) {
  LoaderOptions options = options_for(GetParam(), 10);
  options.shuffle = Shuffle::none;
  const auto recipe = std::make_shared<NumberRecipe>();
  recipe->corrupt = {33, 35, 71};
  const auto loader = must_make(numbers(100), recipe, options);
  EXPECT_EQ(take(*loader, 3).all().size(), 30U);
  for (int again = 0; again < 2; ++again) {
    const auto failed = loader->next();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::invalid_input);
    EXPECT_EQ(failed.error().message, "n/33: not a number");
  }
  EXPECT_EQ(loader->state().consumed, 30U);
  ASSERT_TRUE(loader->start_epoch(1));  // it can be tried again
  EXPECT_EQ(take(*loader, 3).all().size(), 30U);
}

TEST(Loader, SkipsOnlyWhatIsTheSamplesFault) {
  LoaderOptions options = options_for(2, 10);
  options.on_error = OnError::skip;
  options.shuffle = Shuffle::none;
  const auto dataset = numbers(100);
  dataset->broken = {15};
  const auto loader = must_make(dataset, std::make_shared<NumberRecipe>(), options);
  EXPECT_EQ(take(*loader, 1).all().size(), 10U);
  const auto failed = loader->next();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::io);
  EXPECT_EQ(failed.error().message, "n/15: the disk is gone");
}

TEST(Loader, NothingUsableIsAnError) {
  LoaderOptions options = options_for(2, 2);
  options.on_error = OnError::skip;
  const auto recipe = std::make_shared<NumberRecipe>();
  for (std::uint64_t i = 0; i < 5; ++i)
    recipe->corrupt.insert(i);
  const auto loader = must_make(numbers(5), recipe, options);
  const auto failed = loader->next();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("5 samples in a row cannot be used"), std::string::npos)
      << failed.error().message;
}

TEST(Loader, RefusesWhatCannotWork) {
  const auto refused = [](std::uint64_t size, const LoaderOptions& options) {
    const auto made = Loader::make(numbers(size), std::make_shared<NumberRecipe>(), options);
    return made ? std::string("accepted") : made.error().message;
  };
  EXPECT_EQ(refused(5, options_for(1, 7)),
            "a batch of 7 is larger than the dataset of 5 samples; accepted: 1 to 5, or keep the "
            "last short batch");
  LoaderOptions options = options_for(1, 7);
  options.ranks = 20;
  EXPECT_EQ(refused(100, options),
            "20 ranks with a batch of 7 need 140 samples, the dataset has 100; accepted: fewer, or "
            "keep the last short batch");
  options = options_for(1, 7);
  options.drop_last = false;
  EXPECT_EQ(refused(5, options), "accepted");
  EXPECT_EQ(refused(0, options), "the dataset has no samples; at least 1 is needed");
  EXPECT_EQ(refused(100, options_for(1025)), "workers is 1025; accepted: 0 to 1024");
  EXPECT_EQ(refused(100, options_for(-1)), "workers is -1; accepted: 0 to 1024");
  options.prefetch = 0;
  EXPECT_EQ(refused(100, options), "prefetch is 0; accepted: 1 to 1024");
  options = options_for(1);
  options.rank = 1;
  EXPECT_EQ(refused(100, options), "rank is 1; accepted: 0 to 0");
}

}  // namespace
}  // namespace sluice::loader::loader_test
