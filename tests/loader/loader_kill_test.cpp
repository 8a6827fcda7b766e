// tests/loader/loader_kill_test.cpp - a loader over a cache, killed at random points: the next one
// goes on exactly where its last state says.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/image/inputs/photo_dataset.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/recipe/train_crop.h"
#include "sluice/storage/cache/cache.h"
#include "sluice/storage/format/checksum.h"
#include "sluice/storage/local/store.h"

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/kill.h"
#include <csignal>
#include <unistd.h>

namespace sluice::loader::loader_kill_test {
namespace {

namespace fs = std::filesystem;

constexpr int kKills = 80;  // tests/storage/cache_kill_test.cpp has 120 more
constexpr int kPhotos = 44;
constexpr std::uint64_t kEpochs = 24;  // more than a child gets through before it is killed

/// A folder whose files have a version, so that they are kept.
class VersionedStore final : public storage::ObjectStore {
 public:
  explicit VersionedStore(std::unique_ptr<storage::ObjectStore> inner) : inner_(std::move(inner)) {}
  std::string name() const override { return inner_->name(); }
  Status list(std::string_view prefix, const Page& page) override {
    return inner_->list(prefix, [&](std::span<const storage::Object> objects) {
      std::vector<storage::Object> versioned(objects.begin(), objects.end());
      for (storage::Object& object : versioned)
        object.version = "1";
      return page(versioned);
    });
  }
  Result<storage::Object> stat(std::string_view key) override {
    SLUICE_TRY(storage::Object object, inner_->stat(key));
    object.version = "1";
    return object;
  }
  Result<std::span<const std::byte>> read(const storage::Object& object, std::uint64_t offset,
                                          std::size_t size, storage::ReadBuffer& buffer) override {
    return inner_->read(object, offset, size, buffer);
  }
  void cancel() override { inner_->cancel(); }
  Json counters() const override { return inner_->counters(); }

 private:
  std::unique_ptr<storage::ObjectStore> inner_;
};

class LoaderKillTest : public ::testing::Test {
 protected:
  LoaderKillTest() {
    image::PhotoDatasetOptions photos;
    photos.folder = folder_ / "photos";
    photos.count = kPhotos;
    photos.width = 72;
    photos.height = 56;
    const auto made = image::make_photo_dataset(photos);
    EXPECT_TRUE(made) << made.error().message;
  }

  /// `cached`: through a cache that is smaller than the photographs.
  Result<std::shared_ptr<storage::ObjectStore>> store(bool cached) const {
    storage::LocalOptions local;
    local.path = folder_ / "photos";
    SLUICE_TRY(auto inner, storage::open_local(local));
    std::shared_ptr<storage::ObjectStore> versioned =
        std::make_shared<VersionedStore>(std::move(inner));
    if (!cached) return versioned;
    storage::CacheOptions options;
    options.folder = folder_ / "cache";
    options.max_bytes = 30 * 8192;
    return storage::open_cached(versioned, options);
  }
  static Result<std::unique_ptr<Loader>> loader(std::shared_ptr<storage::ObjectStore> from,
                                                int workers) {
    SLUICE_TRY(auto dataset, open_dataset(std::move(from), {}));
    TrainCropOptions crop;
    crop.side = 24;
    SLUICE_TRY(auto recipe, make_train_crop(crop));
    LoaderOptions options;
    options.batch_size = 4;
    options.workers = workers;
    options.prefetch = 3;
    options.seed = 9;
    return Loader::make(std::move(dataset), std::move(recipe), options);
  }
  static std::uint64_t digest(const Batch& batch) {
    storage::Checksum sum;
    sum.update(batch.data());
    sum.update(std::as_bytes(batch.labels()));
    sum.update(std::as_bytes(batch.indices()));
    return sum.value();
  }
  /// Calls `each` with every batch from the loader's place on, over the ends of epochs, until it
  /// says stop. False: an error.
  static bool run(Loader& loader, std::uint64_t epoch,
                  const std::function<bool(const Batch&)>& each) {
    for (;;) {
      auto batch = loader.next();
      if (!batch) return false;
      if (*batch) {
        if (!each(**batch)) return true;
      } else if (!loader.start_epoch(++epoch)) {
        return false;
      }
    }
  }
  std::vector<std::uint64_t> reference() const {
    std::vector<std::uint64_t> digests;
    auto plain = loader(*store(false), 0);
    EXPECT_TRUE(plain && (*plain)->start_epoch(0));
    const std::uint64_t all = kEpochs * (*plain)->steps();
    EXPECT_TRUE(run(**plain, 0, [&](const Batch& batch) {
      digests.push_back(digest(batch));
      return digests.size() < all;
    }));
    return digests;
  }
  /// A line for every batch: its digest, and the state after it.
  int load_until_killed(int pipe, int workers) const {
    auto from = store(true);
    if (!from) return 2;
    auto mine = loader(*from, workers);
    if (!mine || !(*mine)->start_epoch(0)) return 3;
    std::uint64_t left = kEpochs * (*mine)->steps();
    const bool fine = run(**mine, 0, [&](const Batch& batch) {
      const std::string line =
          std::to_string(digest(batch)) + " " + dump_json(to_json((*mine)->state()), -1) + "\n";
      return ::write(pipe, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
             --left > 0;
    });
    if (!fine) return 4;
    ::pause();  // done before it was killed
    return 5;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(LoaderKillTest, GoesOnExactlyWhereTheStateSays) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::uint64_t> expected = reference();
  Rng rng(RngKey{.seed = 777});
  int resumed = 0;
  for (int i = 0; i < kKills; ++i) {
    const auto delay = std::chrono::microseconds(rng.below(i % 4 == 0 ? 1'000 : 12'000));
    const auto killed = storage::testing::run_and_kill(
        [&](int pipe) { return load_until_killed(pipe, 1 + i % 3); }, delay, i % 4 != 0);
    ASSERT_FALSE(killed.ended) << "kill " << i << ": ended by itself: " << killed.status;

    std::vector<std::string> lines = split(killed.written, '\n');
    if (!lines.empty()) lines.pop_back();  // what follows the last newline
    for (std::size_t n = 0; n < lines.size(); ++n)
      ASSERT_EQ(std::stoull(lines[n]), expected.at(n)) << "kill " << i << ", batch " << n;

    auto from = store(true);
    ASSERT_TRUE(from) << from.error().message;
    ASSERT_TRUE(!fs::exists(folder_ / "cache" / "tmp") || fs::is_empty(folder_ / "cache" / "tmp"));
    auto next = loader(*from, i % 4);
    ASSERT_TRUE(next) << next.error().message;
    LoaderState state;
    state.seed = 9;
    if (!lines.empty()) {
      ++resumed;
      const auto json = parse_json(lines.back().substr(lines.back().find(' ') + 1), "state");
      ASSERT_TRUE(json);
      const auto read = state_from_json(*json);
      ASSERT_TRUE(read) << read.error().message;
      state = *read;
      ASSERT_TRUE((*next)->restore(state));
    } else {
      ASSERT_TRUE((*next)->start_epoch(0));
    }
    std::size_t at = lines.size();
    const std::size_t end = std::min(at + 12, expected.size());  // over the end of an epoch
    bool same = true;
    if (at < end) {
      ASSERT_TRUE(run(**next, state.epoch, [&](const Batch& batch) {
        same = same && digest(batch) == expected[at];
        return ++at < end && same;
      }));
    }
    EXPECT_TRUE(same) << "kill " << i << ": batch " << at - 1 << " differs";
    EXPECT_EQ((*from)->counters().at("corrupt"), 0) << "kill " << i;
  }
  EXPECT_GT(resumed, kKills / 2);
}

}  // namespace
}  // namespace sluice::loader::loader_kill_test
