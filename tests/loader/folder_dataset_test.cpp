// tests/loader/folder_dataset_test.cpp - folders of samples: order, labels, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/folder_dataset.h"

#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/loader/data/key_table.h"
#include "sluice/loader/data/labels.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/storage/local/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <malloc.h>
#include <map>
#include <mutex>
#include <string>
#include <thread>
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

/// Knows names at once, and sizes when it is asked for one; other threads than that of the test may
/// be held up there.
class NamesStore final : public storage::ObjectStore {
 public:
  explicit NamesStore(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      sizes[std::to_string(1'000'000 + i) + ".npy"] = 1 + i % 100;
  }

  std::map<std::string, std::uint64_t, std::less<>> sizes{};
  std::atomic<std::uint64_t> asked{0};

  std::string name() const override { return "names"; }
  Status list(std::string_view, const Page& page) override { return list_with(true, page); }
  Status list_names(std::string_view, const Page& page) override { return list_with(false, page); }
  Status list_with(bool known, const Page& page) {
    for (const auto& [key, size] : sizes) {
      const storage::Object object{.key = key, .size = known ? size : storage::kSizeUnknown};
      SLUICE_CHECK(page({&object, 1}));
    }
    return ok;
  }
  Result<storage::Object> stat(std::string_view key) override {
    ++asked;
    std::unique_lock lock(mutex_);
    changed_.notify_all();
    if (std::this_thread::get_id() != test_) changed_.wait(lock, [this] { return !held_; });
    const auto found = sizes.find(key);
    if (found == sizes.end()) return Error{Errc::not_found, "names: no such key"};
    return storage::Object{.key = found->first, .size = found->second};
  }
  Result<std::span<const std::byte>> read(const storage::Object& object, std::uint64_t /*offset*/,
                                          std::size_t size, storage::ReadBuffer& buffer) override {
    const auto found = sizes.find(object.key);
    if (found == sizes.end()) return Error{Errc::not_found, "names: no such key"};
    if (size > found->second) return Error{Errc::invalid_input, "names: it shrank"};
    const std::span<std::byte> out = buffer.take(size);
    std::memset(out.data(), 0, size);
    return std::span<const std::byte>(out);
  }
  void cancel() override {}
  Json counters() const override { return Json::object(); }

  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  /// Of the thread that finds sizes.
  void wait_until_asked(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked >= count; });
  }

 private:
  std::thread::id test_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
};

TEST(FolderSizes, OfFewSamplesAreKnownWhenTheSetIsOpen) {
  const auto store = std::make_shared<NamesStore>(FolderDataset::kFewSamples);
  const auto dataset = open_dataset(store, {});
  ASSERT_TRUE(dataset) << dataset.error().message;
  EXPECT_EQ(store->asked, FolderDataset::kFewSamples);
  const auto before = store->sizes;
  store->sizes.begin()->second = 0;  // it shrank: noticed, as after any listing
  storage::ReadBuffer buffer;
  EXPECT_EQ((*dataset)->read(0, buffer).error().code, Errc::invalid_input);
  std::uint64_t i = 0;
  for (const auto& [key, size] : before)
    ASSERT_EQ((*dataset)->bytes(i++), size) << key;
  EXPECT_EQ(store->asked, FolderDataset::kFewSamples) << "none is asked for twice";
}

TEST(FolderSizes, AreAllKnownWhenTheSetIsOpenIfAskedFor) {
  const auto store = std::make_shared<NamesStore>(FolderDataset::kFewSamples + 1);
  store->hold(true);
  const auto dataset = open_dataset(store, {.sizes = true});
  ASSERT_TRUE(dataset) << dataset.error().message;
  for (std::uint64_t i = 0; i < (*dataset)->size(); ++i)
    ASSERT_EQ((*dataset)->bytes(i), 1 + i % 100);
  EXPECT_EQ(store->asked, 0U);
}

TEST(FolderSizes, OfManySamplesComeMeanwhileOrWhenTheyAreRead) {
  constexpr std::uint64_t kMany = FolderDataset::kFewSamples + 1;
  const auto store = std::make_shared<NamesStore>(kMany);
  store->hold(true);
  auto dataset = open_dataset(store, {});  // waits for no size
  ASSERT_TRUE(dataset) << dataset.error().message;
  ASSERT_EQ((*dataset)->size(), kMany);
  store->wait_until_asked(1);
  storage::ReadBuffer buffer;
  const auto bytes = (*dataset)->read(250, buffer);  // nor for those before it
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size(), 51U);
  EXPECT_EQ(store->asked, 2U);
  const std::string name = (*dataset)->name(250);
  store->sizes[name] = 50;
  EXPECT_EQ((*dataset)->bytes(250), 51U) << "a size once known stays";
  EXPECT_EQ((*dataset)->read(250, buffer).error().code, Errc::invalid_input);
  store->sizes.erase((*dataset)->name(251));
  EXPECT_EQ((*dataset)->read(251, buffer).error().code, Errc::not_found);
  EXPECT_EQ((*dataset)->bytes(251), 0U);
  const std::uint64_t here = store->asked - 1;
  store->hold(false);
  store->wait_until_asked(here + kMany - 1);  // all but the one that was known
  for (std::uint64_t i = 0; i < kMany; ++i)
    ASSERT_EQ((*dataset)->bytes(i), i == 251 ? 0 : 1 + i % 100);
}

TEST(FolderSizes, AreNoLongerLookedForAfterCancelAndAtTheEnd) {
  for (const bool cancel : {true, false}) {
    const auto store = std::make_shared<NamesStore>(FolderDataset::kFewSamples + 1);
    store->hold(true);
    auto dataset = open_dataset(store, {});
    ASSERT_TRUE(dataset);
    store->wait_until_asked(1);
    if (cancel) {
      (*dataset)->cancel();
      store->hold(false);
      dataset = Error{Errc::internal, ""};
      EXPECT_EQ(store->asked, 1U);
    } else {
      std::thread release([&] { store->hold(false); });
      dataset = Error{Errc::internal, ""};  // its thread has ended when this is done
      release.join();
    }
    EXPECT_EQ(store.use_count(), 1);
  }
}

TEST_F(FolderDatasetTest, AFolderOfManyFilesIsTheSameSetWhateverIsKnownWhen) {
  for (std::uint64_t i = 0; i <= FolderDataset::kFewSamples; ++i)
    put("data/" + std::string(1, static_cast<char>('a' + i % 3)) + "/" + std::to_string(i) + ".npy",
        std::string(i % 7, 'x'));
  const auto dataset = open();
  ASSERT_TRUE(dataset);
  ASSERT_EQ((*dataset)->size(), FolderDataset::kFewSamples + 1);
  storage::ReadBuffer buffer;
  std::string before;
  for (std::uint64_t i = 0; i < (*dataset)->size(); ++i) {
    const std::string name = (*dataset)->name(i);
    ASSERT_LT(before, name);
    before = name;
    ASSERT_EQ((*dataset)->label(i), name[0] - 'a');
    const auto bytes = (*dataset)->read(i, buffer);
    ASSERT_TRUE(bytes);
    ASSERT_EQ(bytes->size(), std::stoul(name.substr(2)) % 7);
    ASSERT_EQ((*dataset)->bytes(i), bytes->size());
  }
}

TEST(KeyTableTest, LabelsOfFoldersAreThoseOfNames) {
  Rng rng({.seed = 5});
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> names;
    for (int i = rng.between(0, 30); i > 0; --i) {
      std::string name;
      for (int depth = rng.between(0, 3); depth > 0; --depth)
        name += std::string(1, static_cast<char>('a' + rng.below(3))) + "/";
      names.push_back(name + std::to_string(i));
    }
    std::sort(names.begin(), names.end());
    for (const char* prefix : {"", "a/", "a", "b/a/", "b/c"}) {
      KeyTable table;
      std::vector<std::int32_t> labels(names.size(), -1);
      for (const std::string& name : names)
        table.add({.key = name});
      table.label_by_folder(prefix);
      label_by_folder({.size = names.size(),
                       .name = [&](std::uint64_t i) { return names[i]; },
                       .set = [&](std::uint64_t i, std::int32_t label) { labels[i] = label; }},
                      prefix);
      for (std::uint64_t i = 0; i < names.size(); ++i)
        ASSERT_EQ(table.label(i), labels[i]) << names[i] << " under '" << prefix << "'";
    }
  }
}

}  // namespace
}  // namespace sluice::loader::folder_dataset_test
