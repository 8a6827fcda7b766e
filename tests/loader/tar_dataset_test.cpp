// tests/loader/tar_dataset_test.cpp - tar shards in WebDataset's layout: groups, labels, refusals.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/loader/data/open_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/memory_store.h"
#include "tests/storage/tar.h"

namespace sluice::loader::tar_dataset_test {
namespace {

using storage::testing::MemoryStore;
using storage::testing::Tar;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TarDatasetTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<const Dataset>> open(const DatasetOptions& options = {}) {
    return open_dataset(store_, options);
  }
  /// "name=label:content" of each sample.
  std::vector<std::string> samples(const DatasetOptions& options = {}) {
    const auto dataset = open(options);
    if (!dataset) return {"error: " + dataset.error().message};
    std::vector<std::string> found;
    storage::ReadBuffer buffer;
    for (std::uint64_t i = 0; i < (*dataset)->size(); ++i) {
      const auto bytes = (*dataset)->read(i, buffer);
      EXPECT_EQ(bytes->size(), (*dataset)->bytes(i));
      found.push_back((*dataset)->name(i) + "=" + std::to_string((*dataset)->label(i)) + ":" +
                      std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
    }
    return found;
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(TarDatasetTest, MembersOfOneStemAreOneSample) {
  store_->objects["train-1.tar"] = Tar()
                                       .file("b/1.jpg", "one")
                                       .file("b/1.cls", "3\n")
                                       .file("b/2.cls", "4")
                                       .file("b/2.PNG", "two")
                                       .file("b/2.seg.png", "mask")
                                       .file("b/3.json", R"({"label": 5, "cls": 6})")
                                       .file("b/3.jpeg", "three")
                                       .file("notes.md", "no sample")
                                       .file("b/4.txt", "a caption")
                                       .file("b/4.webp", "four")
                                       .bytes();
  store_->objects["train-0.tar"] = Tar().file("5.jpg", "five").file("5.txt", "9").bytes();
  store_->objects["train-2.tar"] = Tar().file("readme", "none").bytes();
  EXPECT_THAT(samples(), ElementsAre("train-0.tar:5.jpg=9:five", "train-1.tar:b/1.jpg=3:one",
                                     "train-1.tar:b/2.PNG=4:two", "train-1.tar:b/3.jpeg=5:three",
                                     "train-1.tar:b/4.webp=-1:four"));
  const auto dataset = open();
  ASSERT_TRUE(dataset);
  EXPECT_THAT((*dataset)->shard_starts(), ElementsAre(0, 1));
}

TEST_F(TarDatasetTest, ADearStoreGivesTheSameSamplesInFewReads) {
  Tar tar;
  for (int i = 0; i < 50; ++i)
    tar.file(std::to_string(1000 + i) + ".jpg",
             std::string(static_cast<std::size_t>(i + 1) * 100, 'x'))
        .file(std::to_string(1000 + i) + ".cls", std::to_string(i));
  const std::string bytes = tar.bytes();
  store_->objects["a.tar"] = bytes;
  const std::vector<std::string> expected = samples();
  store_ = std::make_shared<MemoryStore>(std::size_t{1} << 20);
  store_->objects["a.tar"] = bytes;
  EXPECT_EQ(samples(), expected);
  EXPECT_EQ(store_->reads, 2);  // the index, then the block
}

TEST_F(TarDatasetTest, LabelsFromACsvGoByTheNameOfTheMember) {
  const testing_support::TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "l.csv", "b.jpg,2\na.jpg,1\n"));
  store_->objects["a.tar"] =
      Tar().file("a.jpg", "a").file("a.cls", "no number").file("b.jpg", "b").bytes();
  DatasetOptions options;
  options.labels_csv = folder / "l.csv";
  EXPECT_THAT(samples(options), ElementsAre("a.tar:a.jpg=1:a", "a.tar:b.jpg=2:b"));
}

TEST_F(TarDatasetTest, WhatIsWrongIsNamed) {
  const auto message = [&](Tar& tar) {
    store_->objects["a.tar"] = tar.bytes();
    return samples();
  };
  EXPECT_THAT(message(Tar().file("1.jpg").file("1.cls", "cat")),
              ElementsAre(HasSubstr("memory/a.tar:1.cls: 'cat': a number is accepted")));
  EXPECT_THAT(message(Tar().file("1.jpg").file("1.jpg")),
              ElementsAre(HasSubstr("memory/a.tar:1.jpg: the name comes twice")));
  EXPECT_THAT(message(Tar().file("1.jpg").file("1.json", "{")),
              ElementsAre(HasSubstr("memory/a.tar:1.json: ")));
  EXPECT_THAT(message(Tar().file("readme.md")),
              ElementsAre(AllOf(HasSubstr("no sample in 1 tar shards"), HasSubstr(".jpg"))));
  store_->objects["a.tar"] = Tar().file("1.jpg", "abc").bytes().substr(0, 514);
  EXPECT_THAT(samples(), ElementsAre(HasSubstr("memory/a.tar: not a sound tar")));
}

}  // namespace
}  // namespace sluice::loader::tar_dataset_test
