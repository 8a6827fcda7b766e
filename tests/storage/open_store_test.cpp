// tests/storage/open_store_test.cpp - addresses, what the environment adds, and whole objects.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/open_store.h"

#include "sluice/storage/remote/fetch_object.h"
#include "sluice/storage/uri.h"

#include <gtest/gtest.h>

#include "tests/storage/fault_server.h"
#include "tests/storage/memory_store.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace sluice::storage::open_store_test {
namespace {

using testing::Fault;
using testing::FaultServer;
using testing::FaultServerOptions;

TEST(Uri, IsToldByItsScheme) {
  const auto s3 = parse_uri("s3://bucket/a/b/");
  ASSERT_TRUE(s3);
  EXPECT_EQ(s3->scheme, Scheme::s3);
  EXPECT_EQ(s3->bucket, "bucket");
  EXPECT_EQ(s3->prefix, "a/b");
  const auto gs = parse_uri("gs://bucket");
  ASSERT_TRUE(gs);
  EXPECT_EQ(gs->scheme, Scheme::gs);
  EXPECT_EQ(gs->prefix, "");
  for (const char* path : {"data/train", "/data", "s3:/odd", "./a:b"}) {
    const auto uri = parse_uri(path);
    ASSERT_TRUE(uri);
    EXPECT_EQ(uri->scheme, Scheme::path);
    EXPECT_EQ(uri->path, path);
  }
  EXPECT_EQ(parse_uri("file:///data")->path, "/data");
  for (const char* bad :
       {"", "s3://", "s3:///key", "http://host/x", "S3://bucket", "file://host/x"})
    EXPECT_EQ(parse_uri(bad).error().code, Errc::usage) << bad;
}

FaultServerOptions server_options() {
  FaultServerOptions options;
  options.signature.keys["AKIDTEST"] = {.secret = "not-a-secret"};
  options.signature.region = "eu-north-1";
  options.generated = {.prefix = "big/", .suffix = "", .count = 1, .size = 1'000'003};
  return options;
}

using Variables = std::map<std::string, std::string>;

Environment environment(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Variables keys_and(Variables more) {
  more["AWS_ACCESS_KEY_ID"] = "AKIDTEST";
  more["AWS_SECRET_ACCESS_KEY"] = "not-a-secret";
  more["AWS_EC2_METADATA_DISABLED"] = "true";
  return more;
}

TEST(OpenStore, TakesEndpointRegionKeysAndAttemptsFromTheEnvironment) {
  FaultServer server(server_options());
  StoreOptions options;
  options.input = "s3://bucket/big";
  options.remote.retry.throttle_base_s = 0.001;
  options.environment = environment(keys_and({{"AWS_ENDPOINT_URL", server.url()},
                                              {"AWS_REGION", "eu-north-1"},
                                              {"AWS_MAX_ATTEMPTS", "2"}}));
  const auto store = open_store(options);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->name(), "s3://bucket/big");
  ASSERT_TRUE((*store)->stat("00000000"));
  EXPECT_EQ((*store)->counters()["retries"], 0U) << "the region was known";
  server.inject(Fault::slow_down, 100);
  const auto refused = (*store)->stat("00000000");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("2 attempts"), std::string::npos);
}

TEST(OpenStore, RefusesWhatWouldDoNothing) {
  StoreOptions options;
  options.input = ::testing::TempDir();
  EXPECT_TRUE(open_store(options));
  options.endpoint = "http://127.0.0.1:1";
  EXPECT_EQ(open_store(options).error().code, Errc::usage);
  options.endpoint.clear();
  options.anonymous = true;
  EXPECT_EQ(open_store(options).error().code, Errc::usage);
  StoreOptions remote;
  remote.input = "s3://bucket";
  remote.environment = environment({{"AWS_MAX_ATTEMPTS", "many"}});
  EXPECT_EQ(open_store(remote).error().code, Errc::usage);
  StoreOptions missing;
  missing.input = "no/such/folder";
  EXPECT_EQ(open_store(missing).error().code, Errc::not_found);
}

TEST(OpenStore, PutsTheCacheBeforeIt) {
  FaultServer server(server_options());
  const auto folder = std::filesystem::path(::testing::TempDir()) / "open_store_cache";
  std::filesystem::remove_all(folder);
  StoreOptions options;
  options.input = "s3://bucket/big";
  options.endpoint = server.url();
  options.region = "eu-north-1";
  options.cache_dir = folder;
  options.environment = environment(keys_and({}));
  for (const std::uint64_t hits : {0U, 1U}) {
    const auto store = open_store(options);
    ASSERT_TRUE(store) << store.error().message;
    const auto object = (*store)->stat("00000000");
    ASSERT_TRUE(object);
    ReadBuffer buffer;
    ASSERT_TRUE((*store)->read(*object, 0, 1000, buffer));
    EXPECT_EQ((*store)->counters()["hits"], hits);
  }
  std::filesystem::remove_all(folder);
}

TEST(FetchObject, BringsEveryByteOnce) {
  FaultServerOptions setup = server_options();
  setup.signature.anonymous = true;
  setup.faults = testing::FaultPlan::uniform(0.2, 5);
  setup.faults.slow_s = 0.001;
  setup.faults.burst = 2;
  FaultServer server(setup);
  StoreOptions options;
  options.input = "s3://bucket/big";
  options.endpoint = server.url();
  options.anonymous = true;
  options.remote.retry.base_s = options.remote.retry.throttle_base_s = 0.001;
  options.environment = environment({});
  const auto store = open_store(options);
  ASSERT_TRUE(store) << store.error().message;
  const auto object = (*store)->stat("00000000");
  ASSERT_TRUE(object) << object.error().message;
  std::vector<std::byte> got(object->size, std::byte{0xEE});
  std::atomic<std::uint64_t> bytes{0};
  const Status status =
      fetch_object(**store, *object,
                   [&](std::uint64_t offset, std::span<const std::byte> part) -> Status {
                     std::ranges::copy(part, got.begin() + static_cast<std::ptrdiff_t>(offset));
                     bytes += part.size();
                     return ok;
                   },
                   {.streams = 4, .range_bytes = 65'536});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(bytes, object->size);
  std::vector<std::byte> expected(object->size);
  testing::generated_content(expected, "big/00000000", 0, 0);
  EXPECT_TRUE(got == expected);
}

TEST(FetchObject, EndsWithTheFirstError) {
  FaultServer server(server_options());
  StoreOptions options;
  options.input = "s3://bucket/big";
  options.endpoint = server.url();
  options.region = "eu-north-1";
  options.environment = environment(keys_and({}));
  const auto store = open_store(options);
  ASSERT_TRUE(store);
  const auto object = (*store)->stat("00000000");
  ASSERT_TRUE(object);
  const auto full = [](std::uint64_t, std::span<const std::byte>) -> Status {
    return Error{Errc::io, "disk full"};
  };
  const Status status = fetch_object(**store, *object, full, {.streams = 3, .range_bytes = 4096});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "disk full");
  EXPECT_LE(server.http().requests(), 5U) << "nothing more is asked for than what was on its way";
  EXPECT_EQ(fetch_object(**store, *object, full, {.streams = 0}).error().code, Errc::usage);
}

/// How many reads there were at the same time.
class CountedStore final : public ObjectStore {
 public:
  testing::MemoryStore inner{};
  std::atomic<int> begun = 0;
  std::atomic<int> most = 0;

  [[nodiscard]] std::string name() const override { return inner.name(); }
  Status list(std::string_view prefix, const Page& page) override {
    return inner.list(prefix, page);
  }
  Result<Object> stat(std::string_view key) override { return inner.stat(key); }
  Result<std::span<const std::byte>> read(const Object& object, std::uint64_t offset,
                                          std::size_t size, ReadBuffer& buffer) override {
    ++begun;
    const int now = ++running_;
    for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
    }
    auto bytes = inner.read(object, offset, size, buffer);
    --running_;
    return bytes;
  }
  void cancel() override { inner.cancel(); }
  [[nodiscard]] Json counters() const override { return inner.counters(); }

 private:
  std::atomic<int> running_ = 0;
};

TEST(FetchObject, APartIsTakenWhileTheNextIsOnItsWay) {
  CountedStore store;
  store.inner.objects["a"] = std::string(std::size_t{3} * 4096 + 5, 'x');
  const auto object = store.stat("a");
  std::atomic<int> parts = 0;
  const Status status =
      fetch_object(store, *object,
                   [&](std::uint64_t offset, std::span<const std::byte>) -> Status {
                     ++parts;
                     const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
                     while (offset == 0 && store.begun < 2) {
                       if (std::chrono::steady_clock::now() > end)
                         return Error{Errc::timeout, "the next part waits for this one"};
                       std::this_thread::yield();
                     }
                     return ok;
                   },
                   {.streams = 1, .range_bytes = 4096});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(parts, 4);
}

TEST(FetchObject, NeverMoreRequestsThanStreams) {
  for (const int streams : {1, 3}) {
    CountedStore store;
    store.inner.objects["a"] = std::string(std::size_t{300} * 4096, 'x');
    const auto object = store.stat("a");
    std::atomic<std::uint64_t> bytes = 0;
    ASSERT_TRUE(fetch_object(store, *object,
                             [&](std::uint64_t, std::span<const std::byte> part) -> Status {
                               bytes += part.size();
                               return ok;
                             },
                             {.streams = streams, .range_bytes = 4096}));
    EXPECT_EQ(bytes, object->size);
    EXPECT_LE(store.most, streams);
  }
}

}  // namespace
}  // namespace sluice::storage::open_store_test
