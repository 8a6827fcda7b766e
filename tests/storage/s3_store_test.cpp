// tests/storage/s3_store_test.cpp - the S3 client against a server that verifies and misbehaves.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/stop.h"

#include <gtest/gtest.h>

#include "tests/storage/s3_client.h"
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace sluice::storage::s3_store_test {
namespace {

class S3Faults : public ::testing::TestWithParam<Fault> {};

// Twice in a row each: what is mended once must be mended again.
TEST_P(S3Faults, EveryByteIsRightAllTheSame) {
  FaultServer server(server_options());
  const auto store = open(client_options(server));
  const auto object = store->stat("00000007.bin");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->size, 300'000U);
  for (int round = 0; round < 2; ++round) {
    server.inject(GetParam());
    ReadBuffer buffer;
    std::ranges::fill(buffer.take(200'000), std::byte{0xEE});
    const auto bytes = store->read(*object, 1234, 200'000, buffer);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_TRUE(std::ranges::equal(*bytes, expected("data/00000007.bin", 1234, 200'000)));
  }
  EXPECT_EQ(server.delivered(GetParam()), 2U);
  const Json counters = store->counters();
  EXPECT_EQ(counters["bytes"], 400'000U);
  EXPECT_EQ(counters["failures"], 0U);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, S3Faults,
                         ::testing::Values(Fault::slow_down, Fault::truncated, Fault::reset,
                                           Fault::slow_first_byte, Fault::wrong_content_range,
                                           Fault::whole_object, Fault::range_with_200,
                                           Fault::changed_etag, Fault::redirect, Fault::clock_skew),
                         [](const auto& test) { return testing::to_string(test.param); });

TEST(S3Store, ResumesFromTheReceivedByte) {
  FaultServer server(server_options());
  const auto store = open(client_options(server));
  const auto object = store->stat("00000001.bin");
  ASSERT_TRUE(object);
  server.inject(Fault::truncated, 4);
  ReadBuffer buffer;
  ASSERT_TRUE(store->read(*object, 0, 300'000, buffer));
  const Json counters = store->counters();
  EXPECT_EQ(counters["retries_by_cause"]["truncated"], 4U);
  EXPECT_EQ(counters["bytes"], 300'000U);
  EXPECT_EQ(counters["bytes_wasted"], 0U) << "what had come was asked for again";
}

TEST(S3Store, ListsEveryKeyInOrderPageByPage) {
  FaultServer server(server_options());
  server.put("data/a b+c&d.txt", "one");
  server.put("data/\xC3\xBC\n.txt", "three");
  const auto store = open(client_options(server));
  std::vector<Object> all;
  int pages = 0;
  const Status status = store->list("", [&](std::span<const Object> objects) -> Status {
    ++pages;
    all.insert(all.end(), objects.begin(), objects.end());
    return ok;
  });
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(pages, 3);
  ASSERT_EQ(all.size(), 2502U);
  EXPECT_EQ(all.front().key, "00000000.bin");
  EXPECT_EQ(all.front().size, 300'000U);
  EXPECT_EQ(all[2500].key, "a b+c&d.txt");
  EXPECT_EQ(all[2501].key, "\xC3\xBC\n.txt");
  for (const std::size_t odd : {2500U, 2501U}) {  // signed as it is listed
    ReadBuffer buffer;
    const auto bytes = store->read(all[odd], 0, all[odd].size, buffer);
    ASSERT_TRUE(bytes) << bytes.error().message;
  }
}

TEST(S3Store, EndsAListingWithTheErrorOfThePage) {
  FaultServer server(server_options());
  const auto store = open(client_options(server));
  const Status status = store->list("", [](std::span<const Object>) -> Status {
    return Error{Errc::usage, "enough"};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "enough");
}

TEST(S3Store, TellsARealChangeFromAStaleAnswer) {
  FaultServerOptions options = server_options();
  options.honours_if_match = false;
  FaultServer server(options);
  const auto store = open(client_options(server));
  const auto object = store->stat("00000003.bin");
  ASSERT_TRUE(object);
  server.set_version(1);
  ReadBuffer buffer;
  const auto bytes = store->read(*object, 0, 1000, buffer);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Errc::invalid_input);
  EXPECT_NE(bytes.error().message.find("s3://bucket/data/00000003.bin"), std::string::npos);
  EXPECT_NE(bytes.error().message.find("version"), std::string::npos);
  EXPECT_NE(bytes.error().message.find("2 attempts"), std::string::npos) << bytes.error().message;
}

TEST(S3Store, NeverMixesTwoVersionsOfAnObjectWithoutOne) {
  FaultServer server(server_options());
  const auto store = open(client_options(server));
  server.inject(Fault::truncated);
  server.inject(Fault::changed_etag);
  ReadBuffer buffer;
  const Object object{"00000005.bin", 300'000, ""};
  const auto bytes = store->read(object, 0, 300'000, buffer);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_TRUE(std::ranges::equal(*bytes, expected("data/00000005.bin", 0, 300'000)));
  EXPECT_EQ(server.delivered(Fault::changed_etag), 1U);
}

TEST(S3Store, BelievesAPreconditionThatFails) {
  FaultServer server(server_options());
  const auto store = open(client_options(server));
  const auto object = store->stat("00000003.bin");
  ASSERT_TRUE(object);
  server.set_version(1);
  ReadBuffer buffer;
  const auto bytes = store->read(*object, 0, 1000, buffer);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Errc::invalid_input) << bytes.error().message;
}

TEST(S3Store, NamesObjectCauseAndAttemptsWhenTheyRunOut) {
  FaultServer server(server_options());
  S3Options options = client_options(server);
  options.remote.retry.max_attempts = 3;
  const auto store = open(options);
  const auto object = store->stat("00000009.bin");
  ASSERT_TRUE(object);
  server.inject(Fault::slow_down, 100);
  ReadBuffer buffer;
  const auto bytes = store->read(*object, 0, 1000, buffer);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Errc::io);
  EXPECT_EQ(bytes.error().message,
            "s3://bucket/data/00000009.bin: asked to slow down (503 SlowDown), 3 attempts");
  EXPECT_EQ(store->counters()["throttles"], 2U);
  EXPECT_EQ(store->counters()["failures"], 1U);
}

TEST(S3Store, LearnsTheClockOfTheServer) {
  for (const std::int64_t offset : {-7200, 7200}) {
    FaultServerOptions options = server_options();
    options.clock_offset_s = offset;
    FaultServer server(options);
    const auto store = open(client_options(server));
    ASSERT_TRUE(store->stat("00000001.bin"));  // HEAD: no body says why
    ASSERT_TRUE(store->stat("00000002.bin"));
    EXPECT_EQ(store->counters()["retries_by_cause"]["skew"], 1U) << "once, then it is known";
  }
}

TEST(S3Store, LearnsTheRegionOfTheBucket) {
  FaultServerOptions options = server_options();
  options.signature.region = "eu-central-1";
  FaultServer server(options);
  const auto store = open(client_options(server));
  Status status = store->list("", [](std::span<const Object>) -> Status { return ok; });
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(store->counters()["retries_by_cause"]["redirect"], 1U);
}

TEST(S3Store, RefusesBytesBeyondTheEndWithoutAsking) {
  FaultServer server(server_options());
  const auto store = open(client_options(server));
  ReadBuffer buffer;
  const Object object{"00000001.bin", 300'000, ""};
  for (const std::uint64_t offset : {std::uint64_t{299'999}, UINT64_MAX}) {
    const auto bytes = store->read(object, offset, 2, buffer);
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, Errc::invalid_input);
  }
  EXPECT_TRUE(store->read(object, 300'000, 0, buffer));
  EXPECT_EQ(server.http().requests(), 0U);
}

TEST(S3Store, SaysThatAnObjectIsMissing) {
  FaultServer server(server_options());
  const auto store = open(client_options(server));
  const auto object = store->stat("missing.bin");
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Errc::not_found);
  EXPECT_NE(object.error().message.find("s3://bucket/data/missing.bin"), std::string::npos);
}

TEST(S3Store, AsksForNewKeysWhenTheirTokenHasExpired) {
  FaultServerOptions server_setup = server_options();
  server_setup.signature.keys["AKIDOLD"] = {.secret = "s1", .session_token = "t1"};
  server_setup.signature.keys["AKIDNEW"] = {.secret = "s2", .session_token = "t2"};
  FaultServer server(server_setup);
  S3Options options = client_options(server);
  options.credentials = std::make_shared<FixedCredentials>(
      std::vector<Credentials>{{"AKIDOLD", "s1", "t1"}, {"AKIDNEW", "s2", "t2"}});
  const auto store = open(options);
  const auto page = [](std::span<const Object>) -> Status { return ok; };
  ASSERT_TRUE(store->list("", page));
  server.expire("AKIDOLD");
  ASSERT_TRUE(store->list("", page));
  server.expire("AKIDNEW");
  const Status status = store->list("", page);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::usage);
  EXPECT_NE(status.error().message.find("expired"), std::string::npos) << status.error().message;
}

TEST(S3Store, GivesUpOnASilentServerInTime) {
  FaultServerOptions server_setup = server_options();
  server_setup.faults.slow_s = 60;
  FaultServer server(server_setup);
  S3Options options = client_options(server);
  options.remote.http.limits.first_byte_s = 0.05;
  options.remote.retry.max_attempts = 2;
  const auto store = open(options);
  const auto object = store->stat("00000001.bin");
  ASSERT_TRUE(object);
  server.inject(Fault::slow_first_byte, 10);
  ReadBuffer buffer;
  const auto bytes = store->read(*object, 0, 1000, buffer);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Errc::timeout);
  EXPECT_EQ(store->counters()["retries_by_cause"]["timeout"], 1U);
}

TEST(S3Store, HedgesTheSlowest) {
  FaultServerOptions server_setup = server_options();
  server_setup.faults.slow_s = 60;
  FaultServer server(server_setup);
  S3Options options = client_options(server);
  options.remote.http.limits.first_byte_s = 30;
  const auto store = open(options);
  const auto object = store->stat("00000001.bin");
  ASSERT_TRUE(object);
  ReadBuffer buffer;
  for (std::uint64_t i = 0; i < 220; ++i)
    ASSERT_TRUE(store->read(*object, i, 100, buffer));
  server.inject(Fault::slow_first_byte);
  const auto bytes = store->read(*object, 5, 1000, buffer);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_TRUE(std::ranges::equal(*bytes, expected("data/00000001.bin", 5, 1000)));
  EXPECT_GE(store->counters()["hedges_won"], 1U);
  EXPECT_EQ(store->counters()["retries"], 0U);
}

TEST(S3Store, CancelEndsWhatIsUnderWay) {
  FaultServerOptions server_setup = server_options();
  server_setup.faults.slow_s = 60;
  FaultServer server(server_setup);
  S3Options options = client_options(server);
  options.remote.hedge = false;
  options.remote.http.limits.first_byte_s = 60;
  const auto store = open(options);
  const auto object = store->stat("00000001.bin");
  ASSERT_TRUE(object);
  server.inject(Fault::slow_first_byte, 100);
  std::thread reader([&] {
    ReadBuffer buffer;
    const auto bytes = store->read(*object, 0, 1000, buffer);
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, Errc::interrupted);
  });
  while (server.delivered(Fault::slow_first_byte) == 0)
    std::this_thread::yield();
  store->cancel();
  reader.join();
  ReadBuffer buffer;
  EXPECT_EQ(store->read(*object, 0, 1000, buffer).error().code, Errc::interrupted);
  EXPECT_EQ(store->stat("00000001.bin").error().code, Errc::interrupted);
}

TEST(S3Store, WhoAsksTheProgramToStopEndsEveryWait) {
  for (const Fault fault : {Fault::slow_first_byte, Fault::slow_down}) {
    FaultServerOptions server_setup = server_options();
    server_setup.faults.slow_s = 60;
    FaultServer server(server_setup);
    server.inject(fault, 1000);
    S3Options options = client_options(server);
    options.remote.http.limits = {.connect_s = 60, .first_byte_s = 60, .stall_s = 60};
    options.remote.retry = {.max_attempts = 100, .base_s = 60, .throttle_base_s = 60, .cap_s = 60};
    const auto store = open(options);
    Status status = ok;
    std::thread lister(
        [&] { status = store->list("", [](std::span<const Object>) -> Status { return ok; }); });
    while (server.http().requests() == 0)
      std::this_thread::yield();
    set_stop_requested(true);
    lister.join();
    set_stop_requested(false);
    ASSERT_FALSE(status) << to_string(fault);
    EXPECT_EQ(status.error().code, Errc::interrupted) << status.error().message;
  }
}

TEST(S3Store, ManyThreadsShareOneStore) {
  FaultServerOptions server_setup = server_options();
  server_setup.faults = testing::FaultPlan::uniform(0.1, 11);
  server_setup.faults.slow_s = 0.01;
  server_setup.faults.burst = 2;  // not all attempts of the one reader that is left at the end
  FaultServer server(server_setup);
  const auto store = open(client_options(server));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      ReadBuffer buffer;
      for (std::size_t i = 0; i < 50; ++i) {
        const std::string key = server_setup.generated.key(t * 50 + i);
        std::string version = testing::etag_of(key, 0);
        std::erase(version, '"');
        const Object object{key.substr(5), 300'000, version};
        const auto bytes = store->read(object, i * 1000, 20'000, buffer);
        if (!bytes || !std::ranges::equal(*bytes, expected(key, i * 1000, 20'000))) ++wrong;
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store->counters()["reads"], 200U);
}

}  // namespace
}  // namespace sluice::storage::s3_store_test
