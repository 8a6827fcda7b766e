// tests/loader/mixture_parts_test.cpp - of a record that was read before only the frames of the
// pair: the same samples, fewer bytes, and nothing of a file that changed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/episode_maker.h"
#include "sluice/loader/mixture/source.h"
#include "sluice/storage/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

namespace sluice::loader::mixture::mixture_parts_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class MixturePartsTest : public ::testing::Test {
 protected:
  MixturePartsTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              (std::string("sluice-parts-") + test->name() + std::to_string(::getpid()));
    fs::remove_all(folder_);
    // Frames of some 20 KB: more than what is read along with a neighbour.
    const episodes::DatasetSpec large = {"large",
                                         "large_full",
                                         1,
                                         "steps/observation/image",
                                         120,
                                         160,
                                         episodes::Codec::png,
                                         "steps/action",
                                         2,
                                         "steps/observation/pose",
                                         3,
                                         "steps/language_instruction",
                                         2,
                                         100,
                                         24,
                                         1000,
                                         16};
    const episodes::Preset preset{.name = "large", .what = "", .datasets = {large}};
    const auto made =
        episodes::make_episodes({.folder = folder_, .preset = preset, .episodes = 6, .seed = 1});
    EXPECT_TRUE(made) << made.error().message;
    store_ = *storage::open_store({.input = folder_.string()});
    specs_ = *preset_sources(store_, preset);
    episodes_ = static_cast<std::size_t>(specs_[0].dataset->episodes);  // of the split
    options_.seed = 3;
  }
  ~MixturePartsTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::uint64_t counter(const char* name) const {
    return store_->counters().at(name).get<std::uint64_t>();
  }
  static std::vector<Sample> take(Source& source, std::size_t count) {
    std::vector<Sample> samples(count);
    FillReport report;
    const auto filled = source.fill(samples, report);
    EXPECT_TRUE(filled) << filled.error().message;
    EXPECT_EQ(filled.value(), count);
    EXPECT_EQ(report.bad_records, 0U) << report.first_error;
    return samples;
  }
  [[nodiscard]] std::unique_ptr<Source> open() const {
    auto source = Source::open(specs_[0], 0, options_);
    EXPECT_TRUE(source) << source.error().message;
    return std::move(source).value();
  }

  fs::path folder_;
  std::shared_ptr<storage::ObjectStore> store_;
  std::vector<SourceSpec> specs_;
  std::size_t episodes_ = 0;
  MixtureOptions options_;
};

void expect_equal(const Sample& a, const Sample& b) {
  EXPECT_EQ(a.record, b.record);
  EXPECT_EQ(a.shard, b.shard);
  EXPECT_EQ(a.frame, b.frame);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.second, b.second);
  EXPECT_EQ(a.action, b.action);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.language, b.language);
  EXPECT_EQ(a.robot, b.robot);
  EXPECT_EQ(a.after, b.after);
}

TEST_F(MixturePartsTest, LaterVisitsReadTheFramesOfThePairAlone) {
  for (const int pairs : {1, 3}) {
    options_.samples_per_episode = pairs;
    const std::size_t epoch = episodes_ * static_cast<std::size_t>(pairs);
    options_.check_always = true;  // whole records, each time
    const auto whole = take(*open(), 3 * epoch);
    options_.check_always = false;
    const auto source = open();
    auto parts = take(*source, epoch);
    const std::uint64_t before = counter("bytes");
    for (Sample& sample : take(*source, 2 * epoch))
      parts.push_back(std::move(sample));
    std::uint64_t frames = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      expect_equal(parts[i], whole[i]);
      frames += i < epoch ? 0 : parts[i].bytes.size();
      EXPECT_FALSE(parts[i].language.empty());
    }
    // Besides the frames: lists of numbers and text, and what lies between close neighbours.
    EXPECT_LT(counter("bytes") - before, frames + 2 * episodes_ * 48'000) << pairs;
    EXPECT_GE(counter("bytes") - before, frames / 2);
  }
}

TEST_F(MixturePartsTest, WhoTakesManyPairsReadsTheRecordAtOnce) {
  options_.samples_per_episode = 8;   // 16 frames of 24
  options_.shuffle_episodes = false;  // the record that was read last does not come first
  const auto source = open();
  (void)take(*source, 8 * episodes_);
  const std::uint64_t before = counter("reads");
  (void)take(*source, 8 * episodes_);
  EXPECT_EQ(counter("reads") - before, episodes_);
}

TEST_F(MixturePartsTest, AFileThatWasWrittenAnewIsNoLongerTrusted) {
  options_.on_error = OnBadData::skip;
  options_.shuffle_episodes = false;
  const auto source = open();
  (void)take(*source, episodes_);
  for (const auto& shard : specs_[0].dataset->shards) {  // in place: the store keeps them open
    std::ofstream file(folder_ / shard.file.key, std::ios::binary | std::ios::in | std::ios::out);
    file << std::string(shard.file.size, '\0');
    ASSERT_TRUE(file.flush());
  }
  std::vector<Sample> samples(1);
  FillReport report;
  const auto filled = source->fill(samples, report);
  ASSERT_TRUE(filled) << filled.error().message;
  EXPECT_EQ(*filled, 0U);
  EXPECT_TRUE(report.dropped);
  EXPECT_EQ(report.bad_records, episodes_);
  EXPECT_THAT(report.first_error, HasSubstr("the checksum of its"));
}

}  // namespace
}  // namespace sluice::loader::mixture::mixture_parts_test
