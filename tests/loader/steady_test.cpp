// tests/loader/steady_test.cpp - a warm loader takes no memory, on real photographs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/photo.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/recipe/train_crop.h"

#include <gtest/gtest.h>

#include "tests/allocations.h"
#include "tests/loader/support.h"
#include <memory>
#include <vector>

namespace sluice::loader::steady_test {
namespace {

class PhotosInMemory final : public Dataset {
 public:
  PhotosInMemory() : files_(6) {
    image::PhotoMaker maker;
    for (std::size_t i = 0; i < files_.size(); ++i)
      EXPECT_TRUE(maker.make_jpeg(files_[i], 1, i, {.width = 120, .height = 90, .quality = 90}));
  }
  [[nodiscard]] std::uint64_t size() const override { return 300; }
  [[nodiscard]] std::string name(std::uint64_t) const override { return "photo"; }
  [[nodiscard]] std::int64_t label(std::uint64_t) const override { return -1; }
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t index) const override {
    return files_[index % files_.size()].size();
  }
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer& buffer) const override {
    const auto& file = files_[index % files_.size()];
    const std::span<std::byte> to = buffer.take(file.size());
    std::memcpy(to.data(), file.data(), file.size());
    return std::span<const std::byte>(to);
  }
  void cancel() const override {}

 private:
  std::vector<std::vector<std::uint8_t>> files_;
  std::vector<std::uint64_t> starts_{0};
};

TEST(Steady, NoAllocationWithinAnEpoch) {
  for (const int workers : {0, 3})
    for (const Filter filter : {Filter::plain, Filter::antialias}) {
      TrainCropOptions crop;
      crop.side = 32;
      crop.filter = filter;
      LoaderOptions options;
      options.batch_size = 10;
      options.workers = workers;
      options.next_epoch_ahead = false;  // an epoch's plan is made with its start
      const auto loader = testing::must_make(std::make_shared<PhotosInMemory>(),
                                             make_train_crop(crop).value(), options);
      // Random crops: buffers have grown to the largest when every worker has met the whole image,
      // which the draws of any one epoch cannot promise. The same epoch again does.
      std::size_t grown = 1;
      for (int pass = 0; pass < 20 && grown > 0; ++pass) {
        ASSERT_TRUE(loader->start_epoch(1));
        const std::size_t before = testing_support::allocations();
        for (;;) {
          auto batch = loader->next();
          ASSERT_TRUE(batch);
          if (!*batch) break;
        }
        grown = testing_support::allocations() - before;
      }
      EXPECT_EQ(grown, 0U) << workers << " workers, " << to_string(filter);
    }
}

}  // namespace
}  // namespace sluice::loader::steady_test
