// tests/loader/folder_dataset_test.cpp - folders of samples: order, labels, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/loader/data/key_table.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/storage/local/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <malloc.h>
#include <string>
#include <vector>

namespace sluice::loader::folder_dataset_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class FolderDatasetTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content = "x") const {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(write_file_atomic(folder_ / name, content, Flush::later));
  }
  Result<std::shared_ptr<const Dataset>> open(const DatasetOptions& options = {}) const {
    storage::LocalOptions local;
    local.path = folder_ / "data";
    auto store = storage::open_local(local);
    if (!store) return store.error();
    return open_dataset(std::shared_ptr<storage::ObjectStore>(std::move(*store)), options);
  }
  Result<std::shared_ptr<const Dataset>> open_with(const std::string& csv) const {
    put("labels.csv", csv);
    DatasetOptions options;
    options.labels_csv = folder_ / "labels.csv";
    return open(options);
  }
  /// "name=label" of each sample.
  static std::vector<std::string> samples(const Result<std::shared_ptr<const Dataset>>& dataset) {
    if (!dataset) return {"error: " + dataset.error().message};
    std::vector<std::string> found;
    for (std::uint64_t i = 0; i < (*dataset)->size(); ++i)
      found.push_back((*dataset)->name(i) + "=" + std::to_string((*dataset)->label(i)));
    return found;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(FolderDatasetTest, FoldersAreClassesInSortedOrder) {
  for (const char* name : {"data/a/1.jpg", "data/a-b/2.PNG", "data/c/deep/3.webp", "data/4.jpeg",
                           "data/a/notes.txt", "data/a/5.npy"})
    put(name, name);
  const auto dataset = open();
  EXPECT_THAT(samples(dataset),
              ElementsAre("4.jpeg=-1", "a-b/2.PNG=1", "a/1.jpg=0", "c/deep/3.webp=2"));
  EXPECT_THAT((*dataset)->shard_starts(), ElementsAre(0));
  storage::ReadBuffer buffer;
  const auto bytes = (*dataset)->read(1, buffer);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()),
            "data/a-b/2.PNG");
  EXPECT_EQ((*dataset)->bytes(1), 14U);
}

TEST_F(FolderDatasetTest, ClassesLieBelowThePrefix) {
  put("data/train/dog/1.jpg");
  put("data/train/cat/2.jpg");
  put("data/val/cat/3.jpg");
  DatasetOptions options;
  options.prefix = "train/";
  EXPECT_THAT(samples(open(options)), ElementsAre("train/cat/2.jpg=0", "train/dog/1.jpg=1"));
}

TEST_F(FolderDatasetTest, ArraysAreSamplesWhereThereAreNoImagesOrWhenAskedFor) {
  put("data/b.npy");
  put("data/a.npy");
  EXPECT_THAT(samples(open()), ElementsAre("a.npy=-1", "b.npy=-1"));
  put("data/c.jpg");
  EXPECT_THAT(samples(open()), ElementsAre("c.jpg=-1"));
  DatasetOptions options;
  options.kind = DatasetKind::arrays;
  EXPECT_THAT(samples(open(options)), ElementsAre("a.npy=-1", "b.npy=-1"));
}

TEST_F(FolderDatasetTest, ClipsAreSamplesWhenAskedForAlone) {
  put("data/b.mp4");
  put("data/a.MOV");
  put("data/c.jpg");
  EXPECT_THAT(samples(open()), ElementsAre("c.jpg=-1"));
  DatasetOptions options;
  options.kind = DatasetKind::clips;
  EXPECT_THAT(samples(open(options)), ElementsAre("a.MOV=-1", "b.mp4=-1"));
  options.prefix = "c";
  EXPECT_THAT(samples(open(options)), ElementsAre(HasSubstr("clips (.mp4")));
}

TEST_F(FolderDatasetTest, NoSampleIsOneErrorThatSaysWhatIsAccepted) {
  fs::create_directories(folder_ / "data");
  const auto empty = open();
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, Errc::invalid_input);
  EXPECT_THAT(empty.error().message,
              AllOf(HasSubstr("data: no sample among 0 objects; images (.jpg"), HasSubstr(".tar"),
                    HasSubstr(".npy"), Not(HasSubstr("\n"))));
  put("data/readme.txt");
  put("data/.hidden.jpg");
  DatasetOptions options;
  options.kind = DatasetKind::images;
  options.prefix = "read";
  EXPECT_THAT(samples(open(options)),
              ElementsAre(HasSubstr("no sample among 1 objects under 'read'; images")));
}

TEST_F(FolderDatasetTest, LabelsFromACsv) {
  put("data/x/1.jpg");
  put("data/x/2.jpg");
  EXPECT_THAT(samples(open_with("name,label\r\nx/2.jpg,7\r\nx/1.jpg,0\r\n")),
              ElementsAre("x/1.jpg=0", "x/2.jpg=7"));
  EXPECT_THAT(samples(open_with("x/2.jpg,owl\n\n\"x/1.jpg\",\"a \"\"cat\"\"\"")),
              ElementsAre("x/1.jpg=0", "x/2.jpg=1"));
  EXPECT_THAT(samples(open_with("x/2.jpg,10\nx/1.jpg,zebra\n")),
              ElementsAre("x/1.jpg=1", "x/2.jpg=0"));
}

TEST_F(FolderDatasetTest, ErrorsOfACsvNameFileAndLine) {
  put("data/1.jpg");
  put("data/2.jpg");
  const auto message = [&](const std::string& csv) {
    const auto dataset = open_with(csv);
    return dataset ? std::string("none") : dataset.error().message;
  };
  EXPECT_THAT(message("1.jpg,0\n2.jpg;1\n"), HasSubstr("labels.csv:2: '2.jpg;1': a line"));
  EXPECT_THAT(message("1.jpg,0\n2.jpg,\n"), HasSubstr("labels.csv:2: '2.jpg' has no label"));
  EXPECT_THAT(message(",0\n"), HasSubstr("labels.csv:1: the name is empty"));
  EXPECT_THAT(message("1.jpg,0,1\n"), HasSubstr("labels.csv:1: more than two columns"));
  EXPECT_THAT(message("\"1.jpg,0\n"), HasSubstr("labels.csv:1: a quote that is not closed"));
  EXPECT_THAT(message("\"1.jpg\"x,0\n"), HasSubstr("labels.csv:1: a comma"));
  EXPECT_THAT(message("1.jpg,0\n2.jpg,1\n1.jpg,0\n"),
              HasSubstr("labels.csv:3: '1.jpg' has a label already, in line 1"));
  EXPECT_THAT(message("1.jpg,0\n2.jpg,1\n3.jpg,1\n"),
              HasSubstr("labels.csv:3: there is no sample '3.jpg'"));
  EXPECT_THAT(message("1.jpg,0\n"), HasSubstr("labels.csv: no label for '2.jpg'"));
  EXPECT_THAT(message("name,label\n"), HasSubstr("labels.csv: no labels"));
}

TEST_F(FolderDatasetTest, AFileThatShrankOrWentIsAnErrorOfItsSample) {
  put("data/1.jpg", "12345");
  put("data/2.jpg", "12345");
  const auto dataset = open();
  ASSERT_TRUE(dataset);
  fs::resize_file(folder_ / "data/1.jpg", 3);
  fs::remove(folder_ / "data/2.jpg");
  storage::ReadBuffer buffer;
  EXPECT_EQ((*dataset)->read(0, buffer).error().code, Errc::invalid_input);
  EXPECT_THAT((*dataset)->read(0, buffer).error().message, HasSubstr("1.jpg: 3 of 5 bytes"));
  EXPECT_EQ((*dataset)->read(1, buffer).error().code, Errc::not_found);
}

TEST(KeyTableTest, AMillionSamplesFitInto120MB) {
  const auto used = [] { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; };
  const std::size_t before = used();
  KeyTable table;
  storage::Object object{
      .key = "", .size = 110'000, .version = "\"0123456789abcdef0123456789abcdef\""};
  for (int i = 0; i < 1'000'000; ++i) {
    object.key = "train/n" + std::to_string(10'000'000 + i / 1300) + "/n" +
                 std::to_string(10'000'000 + i / 1300) + "_" + std::to_string(i) + ".JPEG";
    table.add(object);
  }
  EXPECT_LT(used() - before, 120'000'000U);  // mallinfo2 sees nothing under a sanitizer
  EXPECT_EQ(table.size(), 1'000'000U);
  EXPECT_EQ(table.object(999'999).key, object.key);
  EXPECT_EQ(table.object(999'999).version, object.version);
  EXPECT_EQ(table.key(1300), "train/n10000001/n10000001_1300.JPEG");
}

}  // namespace
}  // namespace sluice::loader::folder_dataset_test
