// tests/storage/s3_refusals_test.cpp - what users get wrong with S3, one clear line each.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/storage/s3_client.h"
#include <functional>
#include <string>

namespace sluice::storage::s3_refusals_test {
namespace {

struct Wrong {
  std::string name;
  std::function<void(S3Options&)> change;
  Errc code;
  std::string text;
};
void PrintTo(const Wrong& wrong, std::ostream* out) {
  *out << wrong.name;
}

class S3Refusals : public ::testing::TestWithParam<Wrong> {};

TEST_P(S3Refusals, AreOneClearLine) {
  FaultServer server(server_options());
  S3Options options = client_options(server);
  GetParam().change(options);
  const auto store = open(options);
  const Status status = store->list("", [](std::span<const Object>) -> Status { return ok; });
  ASSERT_FALSE(status);
  const std::string& message = status.error().message;
  EXPECT_EQ(status.error().code, GetParam().code) << message;
  EXPECT_NE(message.find(GetParam().text), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find(kSecret), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Each, S3Refusals,
    ::testing::Values(Wrong{"UnknownKey", [](S3Options& o) { o.credentials = keys("AKIDOTHER"); },
                            Errc::usage, "the access key is not known"},
                      Wrong{"WrongSecret",
                            [](S3Options& o) { o.credentials = keys(kKeyId, "wrong"); },
                            Errc::usage, "the secret key does not fit"},
                      Wrong{"Anonymous", [](S3Options& o) { o.credentials = nullptr; }, Errc::usage,
                            "access denied"},
                      Wrong{"MissingBucket", [](S3Options& o) { o.bucket = "missing"; },
                            Errc::not_found, "no such bucket"},
                      Wrong{"NobodyThere",
                            [](S3Options& o) {
                              o.endpoint = "http://127.0.0.1:1";
                              o.remote.retry.max_attempts = 2;
                            },
                            Errc::io, "no connection"},
                      Wrong{"NoSuchHost",
                            [](S3Options& o) {
                              o.endpoint = "http://nobody.invalid";
                              o.remote.retry.max_attempts = 1;
                            },
                            Errc::io, "no address for the host"}),
    [](const auto& test) { return test.param.name; });

TEST(S3Refusals, RefusesWhatCannotBeAnEndpointOrABucket) {
  S3Options options;
  options.bucket = "no/bucket";
  EXPECT_EQ(open_s3(options).error().code, Errc::usage);
  options.bucket = "bucket";
  for (const char* endpoint : {"127.0.0.1:9000", "ftp://host", "http://", "http://user@host",
                               "http://host?x", "http://host\r\nx: y"}) {
    options.endpoint = endpoint;
    const auto store = open_s3(options);
    ASSERT_FALSE(store) << endpoint;
    EXPECT_EQ(store.error().code, Errc::usage);
    EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::storage::s3_refusals_test
