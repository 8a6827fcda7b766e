// tests/loader/mixture_errors_test.cpp - bad data, options and stores: skipped or stopped by
// policy, counted, named; nothing hangs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/loader/mixture/mixture.h"
#include "sluice/storage/format/example_proto.h"

#include "tests/loader/mixture_fixture.h"
#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>

namespace sluice::loader::mixture::mixture_errors_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MixtureErrorsTest : public MixtureFixture {
 protected:
  /// All of one pass; the error if there is one.
  static Status drain(Mixture& mixture) {
    while (true) {
      SLUICE_TRY(const MixtureBatch* const batch, mixture.next());
      if (batch == nullptr) return ok;
    }
  }
  static MixtureOptions one_pass(OnBadData policy) {
    auto asked = options();
    asked.one_pass = true;
    asked.on_error = policy;
    return asked;
  }
};

TEST_F(MixtureErrorsTest, OptionsThatMakeNoSense) {
  const auto refused = [&](auto change, const char* says) {
    auto asked = options();
    auto specs = sources();
    change(asked, specs);
    const auto mixture = Mixture::open(specs, asked);
    ASSERT_FALSE(mixture) << says;
    EXPECT_THAT(mixture.error().message, HasSubstr(says));
  };
  using Options = MixtureOptions;
  using Sources = std::vector<SourceSpec>;
  refused([](Options& o, Sources&) { o.batch_size = 7; },
          "batch size 7: a multiple of the mix block, 2");
  refused([](Options& o, Sources&) { o.queue = 0; }, "queue 0");
  refused([](Options& o, Sources&) { o.min_ready = 0; }, "min ready 0");
  refused([](Options& o, Sources&) { o.stall_limit_s = 0; }, "stall limit 0 s");
  refused([](Options&, Sources& s) { s[1].offset = 0; }, "data set two: offset 0");
  refused([](Options&, Sources& s) { s[1].weight = -1; }, "data set two: weight -1");
  refused([](Options&, Sources& s) { s[1].name = "one"; }, "data set one: named twice");
  refused([](Options&, Sources& s) { s[0].weight = s[1].weight = s[2].weight = 0; },
          "no data set has a weight above 0");
  refused([](Options&, Sources& s) { s[0].image = "steps/observation/imag"; },
          "did you mean 'steps/observation/image'?");
  refused([](Options&, Sources& s) { s[0].image = "steps/action"; }, "is no image");
  refused([](Options&, Sources& s) { s[0].action = "steps/observation/image"; },
          "is no list of numbers");
  EXPECT_FALSE(Mixture::open(sources("train[:0]"), options()));
}

TEST_F(MixtureErrorsTest, WeightZeroLeavesOutAndNamesStayRight) {
  auto specs = sources();
  specs[0].weight = 0;
  auto mixture = Mixture::open(specs, options());
  ASSERT_TRUE(mixture);
  for (int i = 0; i < 5; ++i) {
    const MixtureBatch* batch = *(*mixture)->next();
    for (std::size_t k = 0; k < 8; ++k)
      EXPECT_EQ(batch->full.episode_id[k].rfind((*mixture)->sources()[batch->source[k]].name, 0),
                0U);
  }
  EXPECT_EQ((*mixture)->sources()[0].name, "two");
}

TEST_F(MixtureErrorsTest, DamagedAndShortenedShards) {
  std::string bytes = *read_text_file(shard("one"));
  const std::string whole = bytes;
  bytes[100] ^= 1;  // in the payload of the first record
  const struct {
    std::string content;
    std::uint64_t lost;  // of the 6 records of this file
    const char* says;
  } cases[] = {{bytes, 1, "record at byte 0: the checksum of its"},
               {whole.substr(0, whole.size() - 1), 1, "but the file ends"},
               {whole.substr(0, 5), 6, "the file ends after 5 bytes of its header"},
               {"", 6, "it has 0 episodes, dataset_info.json says 6"}};
  for (const auto& [content, lost, says] : cases) {
    ASSERT_TRUE(write_file_atomic(shard("one"), content));
    store_ = *storage::open_store({.input = folder_.string()});  // the old one has it still open
    auto skipping = Mixture::open(sources(), one_pass(OnBadData::skip));
    ASSERT_TRUE(skipping) << skipping.error().message;
    ASSERT_TRUE(drain(**skipping));
    const SourceStats stats = (*skipping)->stats().sources[0];
    EXPECT_EQ(stats.bad_records, lost);
    EXPECT_EQ(stats.samples, 20 - lost);
    EXPECT_THAT(stats.first_error,
                AllOf(HasSubstr("one_full-train.tfrecord-00000-of-00003"), HasSubstr(says)));
    auto stopping = Mixture::open(sources(), one_pass(OnBadData::stop));
    const Status stopped = drain(**stopping);
    ASSERT_FALSE(stopped);
    EXPECT_THAT(stopped.error().message, AllOf(HasSubstr("data set one: "), HasSubstr(says)));
    EXPECT_FALSE((*stopping)->next()) << "and stays so";
  }
}

TEST_F(MixtureErrorsTest, WrongMessagesMissingFeaturesAndImagesThatAreNone) {
  storage::ExampleWriter without, broken;
  without.add_ints("steps/is_first", std::vector<std::int64_t>(10, 0));
  broken.add_ints("steps/is_first", std::vector<std::int64_t>(10, 0));
  broken.add_bytes("steps/observation/image", std::vector<std::string_view>(10, "no image"));
  broken.add_floats("steps/action", std::vector<float>(20));
  broken.add_floats("steps/observation/pose", std::vector<float>(30));
  broken.add_bytes("steps/language_instruction", std::vector<std::string_view>(10, "x"));
  broken.add_bytes("episode_metadata/robot", std::vector<std::string_view>(1, "x"));
  std::string file;
  storage::append_record(file, "no message");
  storage::append_record(file, without.take());
  for (int i = 0; i < 4; ++i) {
    static const std::string message = broken.take();
    storage::append_record(file, message);
  }
  ASSERT_TRUE(write_file_atomic(shard("one"), file));
  auto mixture = Mixture::open(sources(), one_pass(OnBadData::skip));
  ASSERT_TRUE(mixture);
  ASSERT_TRUE(drain(**mixture));
  const SourceStats stats = (*mixture)->stats().sources[0];
  EXPECT_EQ(stats.bad_records, 2U);
  EXPECT_EQ(stats.bad_images, 4U);
  EXPECT_EQ(stats.samples, 18U) << "others stand in for four";
}

TEST_F(MixtureErrorsTest, EpisodesShorterThanTheOffset) {
  auto specs = sources();
  specs[2].offset = 5;  // episodes have 4 to 6 steps
  auto mixture = Mixture::open(specs, one_pass(OnBadData::skip));
  ASSERT_TRUE(drain(**mixture));
  SourceStats stats = (*mixture)->stats().sources[2];
  EXPECT_GT(stats.too_short, 0U);
  EXPECT_EQ(stats.samples + stats.too_short, 20U);
  specs[2].offset = 100;
  auto endless = options();
  endless.on_error = OnBadData::skip;
  mixture = Mixture::open(specs, endless);
  EXPECT_EQ(ids(**mixture, 30).size(), 240U) << "the others go on";
  EXPECT_TRUE((*mixture)->stats().sources[2].dropped);
  endless.on_error = OnBadData::stop;
  mixture = Mixture::open(specs, endless);
  Status outcome = ok;
  for (int i = 0; i < 100 && outcome; ++i)
    outcome = (*mixture)->next() ? Status(ok) : Status((*mixture)->next().error());
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("data set three: no episode with a pair of frames "
                                                 "100 steps apart"));
  endless.on_error = OnBadData::skip;
  for (SourceSpec& spec : specs)
    spec.offset = 100;
  mixture = Mixture::open(specs, endless);
  EXPECT_THAT((*mixture)->next().error().message, HasSubstr("no data set has a usable episode"));
}

/// Reads of keys that begin with `slow` wait until they are let go.
class GatedStore final : public storage::ObjectStore {
 public:
  GatedStore(std::shared_ptr<storage::ObjectStore> below, std::string slow)
      : below_(std::move(below)), slow_(std::move(slow)) {}
  [[nodiscard]] std::string name() const override { return below_->name(); }
  Status list(std::string_view prefix, const Page& page) override {
    return below_->list(prefix, page);
  }
  Result<storage::Object> stat(std::string_view key) override { return below_->stat(key); }
  Result<std::span<const std::byte>> read(const storage::Object& object, std::uint64_t offset,
                                          std::size_t size, storage::ReadBuffer& buffer) override {
    if (object.key.rfind(slow_, 0) == 0 && object.key.find("tfrecord") != std::string::npos) {
      std::unique_lock lock(mutex_);
      gate_.wait(lock, [&] { return open_; });
    }
    return below_->read(object, offset, size, buffer);
  }
  void cancel() override { let_go(); }
  [[nodiscard]] Json counters() const override { return Json::object(); }
  void let_go() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    gate_.notify_all();
  }

 private:
  std::shared_ptr<storage::ObjectStore> below_;
  std::string slow_;
  std::mutex mutex_;
  std::condition_variable gate_;
  bool open_ = false;
};

TEST_F(MixtureErrorsTest, NobodyWaitsForAStalledDataSetWhileOthersAreReady) {
  const auto gated = std::make_shared<GatedStore>(store_, "two_full");
  store_ = gated;
  auto asked = options();
  asked.deterministic = false;
  auto mixture = Mixture::open(sources(), asked);
  ASSERT_TRUE(mixture) << mixture.error().message;
  EXPECT_EQ(ids(**mixture, 30).size(), 240U);
  MixtureStats stats = (*mixture)->stats();
  EXPECT_EQ(stats.sources[1].samples, 0U);
  EXPECT_GT(stats.sources[1].starved, 0U) << "counted, by name";
  gated->let_go();
  int more = 0;  // it takes part again; that it is repaid is the schedule's, and tested there
  for (; stats.sources[1].samples == 0 && more < 20000; ++more) {
    ASSERT_TRUE((*mixture)->next());
    stats = (*mixture)->stats();
  }
  EXPECT_LT(more, 20000);
}

TEST_F(MixtureErrorsTest, AStallIsATimeoutThatNamesWhoIsWaitedFor) {
  const auto gated = std::make_shared<GatedStore>(store_, "two_full");
  store_ = gated;
  auto asked = options();
  asked.stall_limit_s = 0.05;
  auto mixture = Mixture::open(sources(), asked);
  Status outcome = ok;
  for (int i = 0; i < 100 && outcome; ++i) {
    const auto batch = (*mixture)->next();
    if (!batch) outcome = batch.error();
  }
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::timeout);
  EXPECT_THAT(outcome.error().message, HasSubstr("still reading: two (for "));
  gated->let_go();
}

TEST_F(MixtureErrorsTest, AConsumerMayGiveUpAWaitAndAskAgain) {
  const auto gated = std::make_shared<GatedStore>(store_, "two_full");
  auto same = Mixture::open(sources(), options());
  const auto expected = ids(**same, 20);
  store_ = gated;
  auto mixture = Mixture::open(sources(), options());
  ASSERT_TRUE(mixture) << mixture.error().message;
  std::vector<std::string> seen;
  int given_up = 0;
  while (seen.size() < expected.size()) {
    const auto batch = (*mixture)->next([] { return false; });
    if (!batch) {
      EXPECT_EQ(batch.error().code, Errc::interrupted) << batch.error().message;
      if (++given_up == 2) gated->let_go();
      continue;
    }
    for (auto& id : ids(**batch))
      seen.push_back(std::move(id));
  }
  EXPECT_GE(given_up, 2);
  EXPECT_EQ(seen, expected);
}

TEST_F(MixtureErrorsTest, CloseEndsAWaitThreadsAndAReadInFlight) {
  store_ = std::make_shared<GatedStore>(store_, "two_full");  // let go by cancel() alone
  auto mixture = Mixture::open(sources(), options());
  ASSERT_TRUE(mixture) << mixture.error().message;
  const auto asks = std::make_shared<std::promise<void>>();
  auto waits = std::async(std::launch::async, [&] {
    bool said = false;
    while (true) {
      const auto batch = (*mixture)->next([&] {
        if (!std::exchange(said, true)) asks->set_value();
        return true;
      });
      if (!batch) return batch.error();
    }
  });
  asks->get_future().wait();
  (*mixture)->close();
  const Error error = waits.get();
  EXPECT_EQ(error.code, Errc::interrupted);
  EXPECT_EQ(error.message, "the mixture was closed");
  (*mixture)->close();
  EXPECT_EQ((*mixture)->next().error().message, "the mixture was closed");
}

TEST_F(MixtureErrorsTest, AThousandDataSets) {
  std::vector<SourceSpec> many;
  const auto three = sources();
  for (int i = 0; i < 1000; ++i) {
    many.push_back(three[static_cast<std::size_t>(i % 3)]);
    many.back().name = "d" + std::to_string(i);
    many.back().weight = 1;
  }
  auto asked = options();
  asked.batch_size = 400;
  asked.queue = 1;
  asked.metadata = Metadata::dataset_only;
  auto mixture = Mixture::open(many, asked);
  ASSERT_TRUE(mixture);
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE((*mixture)->next());
  for (const SourceStats& source : (*mixture)->stats().sources)
    EXPECT_EQ(source.samples, 2U) << source.name;
}

TEST_F(MixtureErrorsTest, EndsAtOnceWhateverIsUnderWay) {
  for (int i = 0; i < 20; ++i) {
    auto mixture = Mixture::open(sources(), options());
    ASSERT_TRUE(mixture);
    for (int b = 0; b < i % 4; ++b)
      ASSERT_TRUE((*mixture)->next());
  }
}

}  // namespace
}  // namespace sluice::loader::mixture::mixture_errors_test
