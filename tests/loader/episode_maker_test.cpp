// tests/loader/episode_maker_test.cpp - made data sets: the same bytes whatever the threads, read
// back whole, refused before they are too large; damage is found and named.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/episode_maker.h"

#include "sluice/core/file.h"
#include "sluice/image/codec.h"
#include "sluice/loader/episodes/episode.h"
#include "sluice/loader/episodes/episode_dataset.h"
#include "sluice/loader/episodes/inspect.h"
#include "sluice/loader/episodes/make_episode.h"
#include "sluice/storage/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/memory_store.h"
#include <unistd.h>

namespace sluice::loader::episodes::episode_maker_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<DatasetSpec> kSmall = {
    {"one", "one_full", 0.03, "steps/observation/image", 24, 40, Codec::jpeg, "steps/action", 2,
     "steps/observation/pose", 3, "steps/language_instruction", 2, 100, 10, 1000, 16},
    {"two", "two_full", 0.03, "steps/observation/rgb", 32, 32, Codec::unstated,
     "steps/action/future/xyz", 3, "", 0, "steps/observation/instruction", 3, 100, 6, 5, 1},
};

class EpisodeMakerTest : public ::testing::Test {
 protected:
  EpisodeMakerTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              (std::string("sluice-episodes-") + test->name() + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~EpisodeMakerTest() override { fs::remove_all(folder_); }

  [[nodiscard]] EpisodeMakerOptions options(const std::string& name = "d") const {
    return {.folder = folder_ / name,
            .preset = {.name = "small", .what = "", .datasets = kSmall},
            .episodes = 20,
            .seed = 3};
  }
  [[nodiscard]] std::shared_ptr<storage::ObjectStore> store(const std::string& name = "d") const {
    return *storage::open_store({.input = (folder_ / name).string()});
  }

  fs::path folder_;
};

TEST_F(EpisodeMakerTest, TheSameBytesWhateverTheThreads) {
  auto first = options("a");
  first.threads = 1;
  auto second = options("b");
  second.threads = 5;
  const auto one = make_episodes(first);
  const auto five = make_episodes(second);
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_TRUE(five);
  EXPECT_EQ(one->hash, five->hash);
  EXPECT_EQ(one->episodes, 25U) << "20 and, since the real one has no more, 5";
  for (const auto& entry : fs::recursive_directory_iterator(first.folder)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(*read_binary_file(entry.path()),
              *read_binary_file(second.folder / fs::relative(entry.path(), first.folder)));
  }
  auto other = options("c");
  other.seed = 4;
  EXPECT_NE(make_episodes(other)->hash, one->hash);
}

TEST_F(EpisodeMakerTest, MadeEpisodesAreReadBackAsMade) {
  const auto made = make_episodes(options());
  ASSERT_TRUE(made) << made.error().message;
  const auto dataset = EpisodeDataset::open(store(), *find_dataset(*store(), "one_full"), "train");
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ(dataset->shards.size(), 3U);
  EXPECT_EQ(dataset->episodes, 20U);
  EpisodeReader reader(*dataset);
  Episode episode;
  Scene scene;
  std::uint64_t index = 0;
  while (const auto record = *reader.next()) {
    EXPECT_EQ(
        std::string(reinterpret_cast<const char*>(record->payload.data()), record->payload.size()),
        *make_episode(scene, kSmall[0], 3, index));
    ASSERT_TRUE(episode.parse(record->payload, dataset->features));
    EXPECT_EQ(episode.steps(), static_cast<std::size_t>(made_steps(kSmall[0], 3, index)));
    const auto bytes = *episode.bytes(*dataset->features.find("steps/observation/image"), 1);
    const auto info =
        image::read_info({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    EXPECT_EQ(info->width, 40);
    EXPECT_EQ(info->height, 24);
    EXPECT_EQ(info->format, image::Format::jpeg);
    EXPECT_EQ(episode.floats(*dataset->features.find("steps/action"), 0)->size(), 2U);
    ++index;
  }
  EXPECT_EQ(index, 20U);
}

TEST_F(EpisodeMakerTest, StepsAreAboutThoseOfTheTable) {
  for (const DatasetSpec& spec : (*find_preset("oxe29"))->datasets) {
    double sum = 0;
    for (std::uint64_t i = 0; i < 400; ++i) {
      const int steps = made_steps(spec, 1, i);
      EXPECT_LE(std::abs(steps - spec.episode_steps), spec.episode_steps / 5) << spec.name;
      EXPECT_GT(steps, spec.offset);
      sum += steps;
    }
    EXPECT_NEAR(sum / 400, spec.episode_steps, spec.episode_steps * 0.03) << spec.name;
  }
}

TEST_F(EpisodeMakerTest, TextsComeBackCodedOrNot) {
  ASSERT_TRUE(make_episodes(options()));
  for (const char* name : {"one_full", "two_full"}) {
    const auto dataset = EpisodeDataset::open(store(), *find_dataset(*store(), name), "train[:1]");
    ASSERT_TRUE(dataset) << dataset.error().message;
    const DatasetSpec& spec = kSmall[name[0] == 'o' ? 0 : 1];
    EpisodeReader reader(*dataset);
    Episode episode;
    ASSERT_TRUE(episode.parse((**reader.next()).payload, dataset->features));
    const auto text =
        step_text(episode, dataset->features, *dataset->features.require(spec.language), 1);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_THAT(*text, HasSubstr(" the "));
    EXPECT_EQ(text->find('\0'), std::string::npos);
  }
}

TEST_F(EpisodeMakerTest, TooMuchIsRefusedBeforeAnythingIsWritten) {
  auto large = options();
  large.max_gb = 1e-5;
  const auto made = make_episodes(large);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::usage);
  EXPECT_THAT(made.error().message, HasSubstr("would be written; fewer --episodes than 20"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(EpisodeMakerTest, TheEstimateIsNearTheTruth) {
  const auto estimate = estimate_bytes(options());
  const auto made = make_episodes(options());
  EXPECT_NEAR(static_cast<double>(*estimate), static_cast<double>(made->bytes),
              0.35 * static_cast<double>(made->bytes));
}

TEST_F(EpisodeMakerTest, FinishedFoldersStayOthersAreRefusedInterruptedOnesGo) {
  ASSERT_TRUE(make_episodes(options())->written);
  const auto again = make_episodes(options());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->written);
  EXPECT_EQ(again->episodes, 25U);
  auto other = options();
  other.seed = 9;
  EXPECT_THAT(make_episodes(other).error().message, HasSubstr("holds something else"));
  auto stopped = options("s");
  stopped.interrupted = [] { return true; };
  EXPECT_EQ(make_episodes(stopped).error().code, Errc::interrupted);
  EXPECT_FALSE(fs::exists(folder_ / "s"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1)
      << "no partial folder is left";
}

TEST_F(EpisodeMakerTest, InspectionNamesWhatIsDamaged) {
  ASSERT_TRUE(make_episodes(options()));
  auto reports = inspect_episodes(store());
  ASSERT_TRUE(reports);
  ASSERT_EQ(reports->size(), 2U);
  EXPECT_EQ((*reports)[0].read, 20U);
  EXPECT_THAT((*reports)[0].errors, ElementsAre());
  const fs::path shard = folder_ / "d/one_full/0.1.0/one_full-train.tfrecord-00001-of-00003";
  std::string bytes = *read_text_file(shard);
  bytes[40] ^= 1;
  ASSERT_TRUE(write_file_atomic(shard, bytes));
  fs::remove(folder_ / "d/two_full/0.1.0/two_full-train.tfrecord-00000-of-00001");
  reports = inspect_episodes(store());
  ASSERT_TRUE(reports);
  EXPECT_LT((*reports)[0].read, 20U);
  EXPECT_GT((*reports)[0].read, 10U) << "the other shards are read";
  EXPECT_THAT((*reports)[0].errors,
              ElementsAre(HasSubstr("one_full-train.tfrecord-00001-of-00003: record at byte 0: the "
                                    "checksum")));
  EXPECT_THAT((*reports)[1].errors,
              ElementsAre(HasSubstr("shard two_full-train.tfrecord-00000-of-00001 is missing")));
}

TEST_F(EpisodeMakerTest, FewerOrMoreRecordsThanStatedAreErrors) {
  ASSERT_TRUE(make_episodes(options()));
  const fs::path shard = folder_ / "d/two_full/0.1.0/two_full-train.tfrecord-00000-of-00001";
  const std::string bytes = *read_text_file(shard);
  std::string record;
  storage::append_record(record, "x");
  const auto read_all = [&]() -> Status {
    SLUICE_TRY(const auto dataset, EpisodeDataset::open(store(), "two_full/0.1.0", "train"));
    EpisodeReader reader(dataset);
    while (true) {
      SLUICE_TRY(const auto next, reader.next());
      if (!next) return ok;
    }
  };
  ASSERT_TRUE(read_all());
  ASSERT_TRUE(write_file_atomic(shard, bytes + record));
  EXPECT_THAT(read_all().error().message, HasSubstr("17 bytes after the 5 episodes"));
  ASSERT_TRUE(write_file_atomic(shard, record + record));
  EXPECT_THAT(read_all().error().message, HasSubstr("it has 2 episodes, dataset_info.json says 5"));
}

TEST_F(EpisodeMakerTest, NewestVersionsAreFoundInAnyStore) {
  ASSERT_TRUE(make_episodes(options()));
  storage::testing::MemoryStore memory(1 << 16);
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "d"))
    if (entry.is_regular_file())
      memory.objects[fs::relative(entry.path(), folder_ / "d").generic_string()] =
          *read_text_file(entry.path());
  memory.objects["one_full/0.0.9/dataset_info.json"] = "{}";
  memory.objects["one_full/incomplete.X_0.2.0/dataset_info.json"] = "{}";
  EXPECT_THAT(*find_datasets(memory), ElementsAre("one_full/0.1.0", "two_full/0.1.0"));
  EXPECT_EQ(*find_dataset(memory, "one_full"), "one_full/0.1.0");
  EXPECT_EQ(*find_dataset(memory, "one_full/0.1.0"), "one_full/0.1.0");
  EXPECT_THAT(find_dataset(memory, "three").error().message, HasSubstr("no data set 'three'"));
  const auto shared = std::shared_ptr<storage::ObjectStore>(&memory, [](auto*) {});
  const auto dataset = EpisodeDataset::open(shared, "one_full/0.1.0", "train[25%:75%]");
  ASSERT_TRUE(dataset) << dataset.error().message;
  EpisodeReader reader(*dataset);
  int count = 0;
  while (*reader.next())
    ++count;
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace sluice::loader::episodes::episode_maker_test
