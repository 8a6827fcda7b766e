// tests/loader/mixture_fixture.h - three small data sets of episodes and the mixtures of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/episodes/episode_maker.h"
#include "sluice/loader/mixture/mixture.h"
#include "sluice/storage/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

namespace sluice::loader::mixture {

namespace fs = std::filesystem;

inline const std::vector<episodes::DatasetSpec> kThree = {
    {"one", "one_full", 0.5, "steps/observation/image", 20, 24, episodes::Codec::jpeg,
     "steps/action", 2, "steps/observation/pose", 3, "steps/language_instruction", 2, 100, 10, 1000,
     16},
    {"two", "two_full", 0.2, "steps/observation/rgb", 16, 16, episodes::Codec::png,
     "steps/action/xyz", 4, "", 0, "steps/observation/instruction", 3, 100, 12, 1000, 16},
    {"three", "three_full", 0.3, "steps/observation/image", 18, 30, episodes::Codec::unstated, "",
     0, "steps/observation/s", 1, "steps/language_instruction", 1, 100, 5, 1000, 16},
};

class MixtureFixture : public ::testing::Test {
 protected:
  MixtureFixture() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              (std::string("sluice-mixture-") + test->name() + std::to_string(::getpid()));
    fs::remove_all(folder_);
    const auto made =
        episodes::make_episodes({.folder = folder_, .preset = preset_, .episodes = 20, .seed = 1});
    EXPECT_TRUE(made) << made.error().message;
    store_ = *storage::open_store({.input = folder_.string()});
  }
  ~MixtureFixture() override { fs::remove_all(folder_); }

  [[nodiscard]] std::vector<SourceSpec> sources(const std::string& split = "train") const {
    auto found = preset_sources(store_, preset_, {.split = split});
    EXPECT_TRUE(found) << found.error().message;
    return std::move(found).value();
  }
  [[nodiscard]] static MixtureOptions options() {
    MixtureOptions options;
    options.batch_size = 8;
    options.mix_block = 2;
    options.image_size = 16;
    options.min_ready = 1;
    options.read_threads = 2;
    options.decode_threads = 2;
    options.interleave = 2;
    options.deterministic = true;
    options.seed = 5;
    options.on_error = OnBadData::stop;
    options.stall_limit_s = 60;
    return options;
  }
  /// "one:file:3@7" of every sample.
  static std::vector<std::string> ids(const MixtureBatch& batch) {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.size); ++i)
      result.push_back(batch.full.episode_id[i] + "@" + std::to_string(batch.full.frame[i]));
    return result;
  }
  /// Of the next `count` batches.
  static std::vector<std::string> ids(Mixture& mixture, int count) {
    std::vector<std::string> result;
    for (int i = 0; i < count; ++i) {
      const auto batch = mixture.next();
      EXPECT_TRUE(batch) << batch.error().message;
      if (!batch || *batch == nullptr) break;
      for (auto& id : ids(**batch))
        result.push_back(std::move(id));
    }
    return result;
  }
  [[nodiscard]] fs::path shard(const std::string& name, int number = 0) const {
    return folder_ / (name + "_full") / "0.1.0" /
           (name + "_full-train.tfrecord-0000" + std::to_string(number) + "-of-00003");
  }

  episodes::Preset preset_{.name = "three", .what = "", .datasets = kThree};
  fs::path folder_;
  std::shared_ptr<storage::ObjectStore> store_;
};

}  // namespace sluice::loader::mixture
