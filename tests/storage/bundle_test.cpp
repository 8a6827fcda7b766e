// tests/storage/bundle_test.cpp - bundles: packed, read back, verified, and refused when damaged.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/storage/format/bundle_index.h"
#include "sluice/storage/format/bundle_writer.h"
#include "sluice/storage/format/checksum.h"
#include "sluice/storage/local/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/memory_store.h"

namespace sluice::storage::bundle_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryStore;

class BundleTest : public ::testing::Test {
 protected:
  Result<BundleReport> write(std::uint64_t bundle_bytes = 1000) {
    BundleOptions options;
    options.out = folder_ / "out";
    options.bundle_bytes = bundle_bytes;
    options.wanted = [](const Object& object) { return object.key.back() != '!'; };
    return write_bundles(from_, options);
  }
  Result<BundleSet> open() {
    LocalOptions options;
    options.path = folder_ / "out";
    SLUICE_TRY(store_, open_local(options));
    SLUICE_TRY(const Object index, store_->stat(kBundleIndexName));
    return open_bundles(*store_, index);
  }
  std::string error_of_open() {
    const auto set = open();
    return set ? "none" : set.error().message;
  }
  /// The index with its checksum made right again.
  void put_index(std::string bytes) {
    const std::uint64_t sum = checksum(std::as_bytes(std::span(bytes)).first(bytes.size() - 8));
    for (std::size_t i = 0; i < 8; ++i)
      bytes[bytes.size() - 8 + i] = static_cast<char>(sum >> (8 * i) & 0xff);
    ASSERT_TRUE(write_file_atomic(folder_ / "out/bundles.index", bytes));
  }

  testing_support::TemporaryFolder folder_;
  MemoryStore from_;
  std::unique_ptr<ObjectStore> store_;
};

TEST_F(BundleTest, LargestFirstNextFitAndEveryByteComesBack) {
  from_.objects = {{"a", std::string(400, 'a')},
                   {"b", std::string(700, 'b')},
                   {"c", std::string(300, 'c')},
                   {"d/e", std::string(1500, 'd')},
                   {"f", ""},
                   {"g", std::string(400, 'g')},
                   {"skip!", std::string(5, 's')}};
  const auto report = write();
  ASSERT_TRUE(report) << report.error().message;
  // 1500 alone; 700; 400 + 400, then 300 does not fit; 300 + 0.
  EXPECT_EQ(
      report->json().dump(),
      R"({"total_bundles":4,"total_arrays":6,"total_bytes":3300,)"
      R"("total_size_mb":0.003147125244140625,"avg_bundle_size_mb":0.0007867813110351563,)"
      R"("left_out":1,"bundles":[)"
      R"({"file":"bundle-00000.bin","size_mb":0.001430511474609375,"bytes":1500,"arrays":1},)"
      R"({"file":"bundle-00001.bin","size_mb":0.000667572021484375,"bytes":700,"arrays":1},)"
      R"({"file":"bundle-00002.bin","size_mb":0.000762939453125,"bytes":800,"arrays":2},)"
      R"({"file":"bundle-00003.bin","size_mb":0.000286102294921875,"bytes":300,"arrays":2}]})");
  const auto set = open();
  ASSERT_TRUE(set) << set.error().message;
  std::size_t next = 0;
  for (std::size_t b = 0; b < set->bundles.size(); ++b)
    for (std::uint64_t i = 0; i < set->index.bundles[b].samples; ++i, ++next) {
      const auto& sample = set->index.samples[next];
      ReadBuffer buffer;
      const auto bytes = store_->read(set->bundles[b], sample.offset, sample.size, buffer);
      ASSERT_TRUE(bytes);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()),
                from_.objects[std::string(set->index.name(sample))]);
    }
  EXPECT_EQ(next, 6U);
  EXPECT_TRUE(verify_bundles(*store_, *set));
  EXPECT_THAT(folder_.names(), ElementsAre("out"));
}

TEST_F(BundleTest, AFailureLeavesNothing) {
  from_.objects = {{"a", "abc"}, {"b", "def"}};
  from_.fail = true;
  EXPECT_FALSE(write());
  EXPECT_THAT(folder_.names(), IsEmpty());
  from_.fail = false;
  from_.objects = {{"x!", "abc"}};
  const auto none = write();
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("memory: none of 1 objects is a sample"));
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(BundleTest, WhatIsThereIsNotOverwrittenAndWhatAKilledRunLeftIsRemoved) {
  from_.objects = {{"a", "abc"}};
  fs::create_directories(folder_ / ".out.partial");
  ASSERT_TRUE(write_file_atomic(folder_ / ".out.partial/bundle-00000.bin", "torn"));
  ASSERT_TRUE(write());
  EXPECT_THAT(folder_.names(), ElementsAre("out"));
  const auto again = write();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::usage);
  EXPECT_THAT(again.error().message, HasSubstr("is there already"));
}

TEST_F(BundleTest, TwoWritersOfOneFolderAreRefused) {
  from_.objects = {{"a", "abc"}};
  {
    const auto other = FileLock::take(lock_beside(folder_ / "out"), "bundles");
    ASSERT_TRUE(other);
    const auto report = write();
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message, HasSubstr("is writing it"));
  }
  EXPECT_TRUE(write());
  EXPECT_THAT(folder_.names(), ElementsAre("out"));
}

TEST_F(BundleTest, ADamagedIndexOrAnotherVersionIsNamed) {
  from_.objects = {{"a", "abc"}, {"b", "def"}};
  ASSERT_TRUE(write(3));
  const auto text = read_text_file(folder_ / "out/bundles.index");
  ASSERT_TRUE(text);
  const auto with = [&](std::size_t at, char value, bool sealed) {
    std::string bytes = *text;
    bytes[at] = value;
    if (sealed)
      put_index(bytes);
    else
      EXPECT_TRUE(write_file_atomic(folder_ / "out/bundles.index", bytes));
    return error_of_open();
  };
  EXPECT_THAT(with(0, 'x', true), HasSubstr("bundles.index: not an index of bundles"));
  EXPECT_THAT(with(8, 2, true), AllOf(HasSubstr("an index of version 2, and version 1 is accepted"),
                                      HasSubstr("'sluice data bundle'")));
  EXPECT_THAT(with(90, 1, false), HasSubstr("checksum is wrong"));
  EXPECT_THAT(with(12, 3, true), HasSubstr("its length is wrong"));
  EXPECT_THAT(with(16, 3, true), HasSubstr("its length is wrong"));
  EXPECT_THAT(with(32 + 8, 2, true), HasSubstr("overlap"));  // two samples in the first bundle
  EXPECT_THAT(with(32 + 8, 9, true), HasSubstr("more samples than there are"));
  EXPECT_THAT(with(32 + 8, 0, true), HasSubstr("samples in no bundle"));
  EXPECT_THAT(with(80, 1, true), HasSubstr("outside its bundle"));  // the offset of the first
  EXPECT_THAT(with(80 + 24, 0, true), HasSubstr("names of no sample"));
  EXPECT_THAT(with(80 + 24, 9, true), HasSubstr("names over its end"));
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, text->size() - 1}) {
    ASSERT_TRUE(write_file_atomic(folder_ / "out/bundles.index", text->substr(0, size)));
    EXPECT_THAT(error_of_open(), HasSubstr("bundles.index"));
  }
}

TEST_F(BundleTest, ABundleThatIsMissingShortOrChangedIsNamed) {
  from_.objects = {{"a", "abc"}, {"b", "def"}};
  ASSERT_TRUE(write(3));
  const auto set = open();
  ASSERT_TRUE(set);
  ASSERT_TRUE(write_file_atomic(folder_ / "out/bundle-00001.bin", "dXf"));
  const Status damaged = verify_bundles(*store_, *set);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("bundle-00001.bin: 'b' is damaged"));
  fs::resize_file(folder_ / "out/bundle-00001.bin", 2);
  EXPECT_THAT(error_of_open(), HasSubstr("bundle-00001.bin: 2 bytes, and 3 are in the index"));
  fs::remove(folder_ / "out/bundle-00001.bin");
  EXPECT_THAT(error_of_open(), HasSubstr("bundle-00001.bin"));
}

}  // namespace
}  // namespace sluice::storage::bundle_test
