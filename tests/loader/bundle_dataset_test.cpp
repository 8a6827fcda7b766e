// tests/loader/bundle_dataset_test.cpp - a folder and the bundles made of it are the same samples.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/storage/format/bundle_writer.h"
#include "sluice/storage/local/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/memory_store.h"
#include <map>

namespace sluice::loader::bundle_dataset_test {
namespace {

using storage::testing::MemoryStore;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Name after the last ':' to "label content".
std::map<std::string, std::string> contents(const Dataset& dataset) {
  std::map<std::string, std::string> found;
  storage::ReadBuffer buffer;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const auto bytes = dataset.read(i, buffer);
    EXPECT_TRUE(bytes);
    const std::string name = dataset.name(i);
    found[name.substr(name.rfind(':') + 1)] =
        std::to_string(dataset.label(i)) + " " +
        std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  return found;
}

TEST(BundleDatasetTest, HoldsTheSamplesOfTheFolderWithTheirLabels) {
  const testing_support::TemporaryFolder folder;
  const auto from = std::make_shared<MemoryStore>();
  for (int i = 0; i < 40; ++i)
    from->objects["c" + std::to_string(i % 3) + "/" + std::to_string(i) + ".npy"] =
        std::string(static_cast<std::size_t>(100 + i), static_cast<char>('a' + i % 26));
  const auto plain = open_dataset(from, {});
  ASSERT_TRUE(plain);
  storage::BundleOptions options;
  options.out = folder / "out";
  options.bundle_bytes = 1500;
  ASSERT_TRUE(storage::write_bundles(*from, options));
  for (const auto mode : {storage::ReadMode::buffered, storage::ReadMode::mmap}) {
    storage::LocalOptions local;
    local.path = folder / "out";
    local.read_mode = mode;
    auto store = storage::open_local(local);
    ASSERT_TRUE(store);
    const auto bundled = open_dataset(std::shared_ptr<storage::ObjectStore>(std::move(*store)), {});
    ASSERT_TRUE(bundled) << bundled.error().message;
    EXPECT_EQ((*bundled)->size(), 40U);
    EXPECT_EQ((*bundled)->shard_starts().size(), 4U);
    EXPECT_EQ(contents(**bundled), contents(**plain));
  }
  // The same from a store where requests are dear: one read of each bundle, one of the index.
  const auto remote = std::make_shared<MemoryStore>(std::size_t{1} << 20);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out")) {
    const auto text = read_text_file(entry.path());
    ASSERT_TRUE(text);
    remote->objects["set/" + entry.path().filename().string()] = *text;
  }
  const auto bundled = open_dataset(remote, {});
  ASSERT_TRUE(bundled) << bundled.error().message;
  EXPECT_EQ(contents(**bundled), contents(**plain));
  EXPECT_EQ(remote->reads, 5);
  remote->objects["other/bundles.index"] = remote->objects["set/bundles.index"];
  const auto two = open_dataset(remote, {});
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message, HasSubstr("two sets of bundles"));
}

}  // namespace
}  // namespace sluice::loader::bundle_dataset_test
