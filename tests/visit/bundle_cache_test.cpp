// tests/visit/bundle_cache_test.cpp - which bundles an earlier run's are taken for.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/bundle_cache.h"

#include "sluice/core/file.h"
#include "sluice/storage/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/memory_store.h"
#include <cstdlib>

namespace sluice::visit::bundle_cache_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BundleCacheTest : public ::testing::Test {
 protected:
  BundleCacheTest() {
    setenv("SLUICE_CACHE_DIR", (folder_ / "cache").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    store_.objects = {{"a.npy", "first"}, {"b.npy", "second"}};
  }
  ~BundleCacheTest() override {
    unsetenv("SLUICE_CACHE_DIR");  // NOLINT(concurrency-mt-unsafe)
  }

  KeptBundles keep(const std::string& id, const fs::path& files = {}) {
    auto kept = keep_bundles({.store = store_, .id = id, .files = files}, folder_ / "packed/set",
                             Progress::silent(), {});
    EXPECT_TRUE(kept) << kept.error().message;
    return kept ? *kept : KeptBundles{};
  }
  /// What the only bundle holds.
  static std::string content(const KeptBundles& kept) {
    const auto text = read_text_file(kept.folder / "bundle-00000.bin");
    return text ? *text : text.error().message;
  }

  testing_support::TemporaryFolder folder_;
  storage::testing::MemoryStore store_;
};

TEST_F(BundleCacheTest, TheSameInputIsPackedOnce) {
  EXPECT_EQ(keep("s3://one").report["kept"], false);
  const KeptBundles again = keep("s3://one");
  EXPECT_EQ(again.report["kept"], true);
  EXPECT_EQ(content(again), "secondfirst");
  EXPECT_THAT(*bundle_entries(), SizeIs(1));
}

TEST_F(BundleCacheTest, AnotherBucketOfTheSameKeysAndSizesIsAnotherInput) {
  keep("s3://one");
  store_.objects = {{"a.npy", "FIRST"}, {"b.npy", "SECOND"}};
  const KeptBundles other = keep("s3://one at http://elsewhere");
  EXPECT_EQ(other.report["kept"], false);
  EXPECT_EQ(content(other), "SECONDFIRST");
  EXPECT_THAT(*bundle_entries(), SizeIs(2));
}

TEST_F(BundleCacheTest, ANewVersionIsPackedAnew) {
  keep("s3://one");
  store_.objects["a.npy"] = "FIRST";
  store_.version = "2";
  EXPECT_EQ(content(keep("s3://one")), "secondFIRST");
}

TEST_F(BundleCacheTest, WhatHasNoVersionIsNeverKept) {
  store_.version.clear();
  const KeptBundles first = keep("gs://emulated");
  EXPECT_EQ(first.report["kept"], false);
  EXPECT_THAT(first.report["not_kept"].get<std::string>(), HasSubstr("b.npy has no version"));
  EXPECT_EQ(first.folder, folder_ / "packed/set");
  EXPECT_THAT(*bundle_entries(), IsEmpty());
  fs::remove_all(folder_ / "packed");
  store_.objects["a.npy"] = "FIRST";  // as long as before
  EXPECT_EQ(content(keep("gs://emulated")), "secondFIRST");
}

TEST_F(BundleCacheTest, FilesHaveTheTimeOfTheirLastWrite) {
  store_.version.clear();
  const fs::path files = folder_ / "files";
  ASSERT_TRUE(create_folders(files));
  for (const auto& [name, bytes] : store_.objects)
    ASSERT_TRUE(write_file_atomic(files / name, bytes));
  EXPECT_EQ(keep("/files", files).report["kept"], false);
  EXPECT_EQ(keep("/files", files).report["kept"], true);
  fs::last_write_time(files / "a.npy", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(keep("/files", files).report["kept"], false);
}

TEST_F(BundleCacheTest, AStoreIsNamedWithItsEndpointAndAFolderWithoutLinks) {
  ASSERT_TRUE(create_folders(folder_ / "D"));
  fs::create_symlink(folder_ / "D", folder_ / "link");
  storage::StoreOptions options;
  options.input = (folder_ / "link").string();
  EXPECT_EQ(*storage::store_id(store_, options), fs::canonical(folder_ / "D").string());
  options.input = "s3://bucket/D";
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "AWS_ENDPOINT_URL") return "http://of.the.environment";
    return std::nullopt;
  };
  EXPECT_EQ(*storage::store_id(store_, options), "memory at http://of.the.environment");
  options.endpoint = "http://named";
  EXPECT_EQ(*storage::store_id(store_, options), "memory at http://named");
  options.endpoint = "";
  options.environment = [](const std::string&) { return std::optional<std::string>(); };
  EXPECT_EQ(*storage::store_id(store_, options), "memory");
}

}  // namespace
}  // namespace sluice::visit::bundle_cache_test
