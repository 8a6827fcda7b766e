// tests/loader/mixture_parts_test.cpp - of a record that was read before only the frames of the
// pair: the same samples, fewer bytes, and nothing of a file that changed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
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

/// As if it were a bucket: records that are checked each time are read whole.
class WholeStore final : public storage::ObjectStore {
 public:
  explicit WholeStore(std::shared_ptr<storage::ObjectStore> below) : below_(std::move(below)) {}
  [[nodiscard]] std::string name() const override { return below_->name(); }
  Status list(std::string_view prefix, const Page& page) override {
    return below_->list(prefix, page);
  }
  Result<storage::Object> stat(std::string_view key) override { return below_->stat(key); }
  Result<std::span<const std::byte>> read(const storage::Object& object, std::uint64_t offset,
                                          std::size_t size, storage::ReadBuffer& buffer) override {
    return below_->read(object, offset, size, buffer);
  }
  [[nodiscard]] std::size_t request_bytes() const override { return 1; }
  void cancel() override { below_->cancel(); }
  [[nodiscard]] Json counters() const override { return below_->counters(); }

 private:
  std::shared_ptr<storage::ObjectStore> below_;
};

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
    preset_ = {.name = "large", .what = "", .datasets = {large}};
    const auto made =
        episodes::make_episodes({.folder = folder_, .preset = preset_, .episodes = 6, .seed = 1});
    EXPECT_TRUE(made) << made.error().message;
    store_ = *storage::open_store({.input = folder_.string()});
    specs_ = *preset_sources(store_, preset_);
    whole_ = *preset_sources(std::make_shared<WholeStore>(store_), preset_);
    episodes_ = static_cast<std::size_t>(specs_[0].dataset->episodes);  // of the split
    options_.seed = 3;
  }
  ~MixturePartsTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::uint64_t counter(const char* name) const {
    return store_->counters().at(name).get<std::uint64_t>();
  }
  /// Bytes of all records of the split.
  [[nodiscard]] std::uint64_t payloads() const {
    std::uint64_t bytes = 0;
    for (const episodes::ShardSlice& shard : specs_[0].dataset->shards) {
      storage::RecordReader reader(*store_, shard.file);
      for (std::uint64_t i = 0; i < shard.first + shard.count; ++i) {
        const storage::RecordPlace place = **reader.skip();
        bytes += i < shard.first ? 0 : place.size;
      }
    }
    return bytes;
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
  [[nodiscard]] std::unique_ptr<Source> open() const { return open(specs_); }
  [[nodiscard]] std::unique_ptr<Source> open(const std::vector<SourceSpec>& specs) const {
    auto source = Source::open(specs[0], 0, options_);
    EXPECT_TRUE(source) << source.error().message;
    return std::move(source).value();
  }

  fs::path folder_;
  std::shared_ptr<storage::ObjectStore> store_;
  episodes::Preset preset_;
  std::vector<SourceSpec> specs_;
  std::vector<SourceSpec> whole_;  // the same, whose records are read whole each time
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
    const auto whole = take(*open(whole_), 3 * epoch);
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

TEST_F(MixturePartsTest, ChecksAtEveryVisitGiveTheSameAndGoOverEveryRecord) {
  options_.check_always = true;
  for (const int pairs : {1, 3, 8}) {
    options_.samples_per_episode = pairs;
    const std::size_t epoch = episodes_ * static_cast<std::size_t>(pairs);
    const auto whole = take(*open(whole_), 3 * epoch);
    const std::uint64_t before = counter("bytes");
    const std::uint64_t mapped = counter("mapped_bytes");
    const auto checked = take(*open(), 3 * epoch);
    for (std::size_t i = 0; i < whole.size(); ++i)
      expect_equal(checked[i], whole[i]);
    // The record that ends an epoch may begin the next one: a reader still has it.
    EXPECT_GE(counter("bytes") - before, 3 * payloads() * 8 / 10) << pairs;
    // The first visit reads; so does, at eight pairs, each.
    EXPECT_EQ(counter("mapped_bytes") > mapped, pairs < 8) << pairs;
  }
}

struct Damage {
  const char* what;
  std::uint64_t at;
  const char* says;
};

TEST_F(MixturePartsTest, DamageAnywhereIsFoundAtEveryVisit) {
  options_.check_always = true;
  options_.on_error = OnBadData::stop;
  options_.shuffle_episodes = false;
  const episodes::ShardSlice& shard = specs_[0].dataset->shards[0];
  const fs::path path = folder_ / shard.file.key;
  const std::string sound = *read_text_file(path);
  storage::RecordReader records(*store_, shard.file);
  const storage::RecordPlace place = **records.skip();
  const std::uint64_t payload = place.offset + storage::kRecordHeaderBytes;
  std::vector<Damage> cases = {{"its length", place.offset, "the checksum of its length"},
                               {"that checksum", place.offset + 8, "the checksum of its length"},
                               {"its checksum", payload + place.size + 3, "the checksum of its"}};
  for (std::uint64_t i = 0; i <= 16; ++i)  // frames that are wanted, others, lists, names
    cases.push_back({"its payload", payload + (place.size - 1) * i / 16, "the checksum of its"});
  const auto flip = [&](std::uint64_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(sound[static_cast<std::size_t>(at)] ^ 0x10));
    ASSERT_TRUE(file.flush());
  };
  const auto restore = [&](std::uint64_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(sound[static_cast<std::size_t>(at)]);
    ASSERT_TRUE(file.flush());
  };
  std::vector<Sample> samples(episodes_);
  FillReport report;
  const auto source = open();
  ASSERT_TRUE(source->fill(samples, report));
  for (const auto& [what, at, says] : cases) {
    flip(at);
    source->seek({.epoch = 1});
    const auto found = source->fill(samples, report);
    const auto expected = open()->fill(samples, report);  // who reads it for the first time
    ASSERT_FALSE(found) << what << " at " << at;
    ASSERT_FALSE(expected) << what << " at " << at;
    EXPECT_EQ(found.error().message, expected.error().message);
    EXPECT_THAT(found.error().message, HasSubstr("record at byte 0: "));
    EXPECT_THAT(found.error().message, HasSubstr(says));
    restore(at);
    source->seek({.epoch = 1});
    EXPECT_TRUE(source->fill(samples, report)) << "sound again";
  }
  fs::resize_file(path, payload + place.size / 2);
  source->seek({.epoch = 1});
  const auto found = source->fill(samples, report);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::invalid_input);
  EXPECT_THAT(found.error().message, HasSubstr("the file shrank since it was listed"));
}

TEST_F(MixturePartsTest, ASoundRecordThatWasWrittenAnewGivesWhatItHoldsNow) {
  options_.check_always = true;
  options_.shuffle_episodes = false;
  options_.shuffle_pairs = false;
  const episodes::ShardSlice& shard = specs_[0].dataset->shards[0];
  const fs::path path = folder_ / shard.file.key;
  const auto source = open();
  const auto before = take(*source, episodes_);
  storage::RecordReader reader(*store_, shard.file);
  const std::string sound = *read_text_file(path);
  std::string anew;
  while (const auto record = *reader.next()) {
    std::string payload(reinterpret_cast<const char*>(record->payload.data()),
                        record->payload.size());
    // The last byte of the first frame: that of a PNG, which nothing checks here.
    if (record->place.offset == 0) {
      const std::string frame(
          before[0].bytes.begin(),
          before[0].bytes.begin() + static_cast<std::ptrdiff_t>(before[0].second));
      const std::size_t at = payload.find(frame);
      ASSERT_NE(at, std::string::npos);
      payload[at + frame.size() - 1] ^= 1;
    }
    storage::append_record(anew, payload);
  }
  ASSERT_EQ(anew.size(), sound.size());
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file << anew;  // in place: the store keeps it open
    ASSERT_TRUE(file.flush());
  }
  source->seek({.epoch = 1});
  const auto after = take(*source, episodes_);
  ASSERT_EQ(after[0].bytes.size(), before[0].bytes.size());
  EXPECT_EQ(after[0].bytes[after[0].second - 1], before[0].bytes[before[0].second - 1] ^ 1);
  EXPECT_EQ(after[1].bytes, before[1].bytes);
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
