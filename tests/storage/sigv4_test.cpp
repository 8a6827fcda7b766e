// tests/storage/sigv4_test.cpp - the published examples of AWS Signature Version 4.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/credentials/sigv4.h"

#include "sluice/storage/uri.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::storage::sigv4_test {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string signature(const std::string& authorization) {
  return authorization.substr(authorization.rfind('=') + 1);
}

struct Vector {
  std::string name;
  std::string path;
  Pairs query;
  Pairs headers;  // beside host and x-amz-date
  std::string signature;
  std::string method = "GET";
};

void PrintTo(const Vector& vector, std::ostream* out) {
  *out << vector.name;
}

class SignatureSuite : public ::testing::TestWithParam<Vector> {};

// The cases of aws-sig-v4-test-suite that say something about requests as we make them.
TEST_P(SignatureSuite, GivesThePublishedSignature) {
  const Vector& vector = GetParam();
  SigningRequest request;
  request.method = vector.method;
  request.path = vector.path;
  request.query = vector.query;
  request.headers = vector.headers;
  request.headers.emplace_back("x-amz-date", "20150830T123600Z");
  request.headers.emplace_back("host", "example.amazonaws.com");
  const Credentials credentials{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
  Signer signer("service");
  const std::string text =
      signer.authorization(request, credentials, "us-east-1", "20150830T123600Z");
  EXPECT_EQ(signature(text), vector.signature);
  EXPECT_TRUE(text.starts_with(
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "));
}

constexpr const char* kUnreserved =
    "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

INSTANTIATE_TEST_SUITE_P(
    Published, SignatureSuite,
    ::testing::Values(Vector{"get-vanilla",
                             "/",
                             {},
                             {},
                             "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
                      Vector{"get-vanilla-query-order-key-case",
                             "/",
                             {{"Param2", "value2"}, {"Param1", "value1"}},
                             {},
                             "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
                      Vector{"get-vanilla-empty-query-key",
                             "/",
                             {{"Param1", "value1"}},
                             {},
                             "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
                      Vector{"get-vanilla-query-unreserved",
                             "/",
                             {{kUnreserved, kUnreserved}},
                             {},
                             "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
                      Vector{"get-vanilla-utf8-query",
                             "/",
                             {{"\xE1\x88\xB4", "bar"}},
                             {},
                             "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
                      Vector{"get-unreserved",
                             std::string("/") + kUnreserved,
                             {},
                             {},
                             "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
                      Vector{"get-utf8",
                             "/\xE1\x88\xB4",
                             {},
                             {},
                             "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
                      Vector{"get-space",
                             "/example space/",
                             {},
                             {},
                             "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
                      Vector{"get-header-value-trim",
                             "/",
                             {},
                             {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}},
                             "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
                      Vector{"post-vanilla",
                             "/",
                             {},
                             {},
                             "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
                             "POST"}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::erase(name, '-');
      return name;
    });

const Credentials kS3Example{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
constexpr std::int64_t kS3ExampleTime = 1369353600;  // 2013-05-24 00:00:00

std::string sign_s3(std::string path, Pairs query, Pairs headers) {
  SigningRequest request;
  request.path = std::move(path);
  request.query = std::move(query);
  request.headers = std::move(headers);
  request.headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  Signer signer("s3");
  return signature(signer.sign(request, kS3Example, "us-east-1", kS3ExampleTime).back());
}

// "Examples: Signature Calculations" of the S3 API reference.
TEST(SigV4, SignsAsTheS3Documentation) {
  EXPECT_EQ(sign_s3("/test.txt", {}, {{"range", "bytes=0-9"}}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(sign_s3("/", {{"lifecycle", ""}}, {}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(sign_s3("/", {{"max-keys", "2"}, {"prefix", "J"}}, {}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, SendsTheTokenAndSignsIt) {
  Credentials credentials = kS3Example;
  SigningRequest request;
  request.headers.emplace_back("host", "h");
  Signer signer("s3");
  const auto without = signer.sign(request, credentials, "us-east-1", kS3ExampleTime);
  credentials.session_token = "token";
  const auto with = signer.sign(request, credentials, "us-east-1", kS3ExampleTime);
  ASSERT_EQ(with.size(), without.size() + 1);
  EXPECT_EQ(with[2], "x-amz-security-token: token");
  EXPECT_NE(with.back().find("SignedHeaders=host;x-amz-content-sha256;x-amz-date;"
                             "x-amz-security-token,"),
            std::string::npos);
  EXPECT_NE(signature(with.back()), signature(without.back()));
}

TEST(SigV4, DerivesANewKeyForEveryDayRegionAndSecret) {
  SigningRequest request;
  request.headers.emplace_back("host", "h");
  Signer kept("s3");
  const auto check = [&](const Credentials& credentials, const char* region, std::int64_t time) {
    Signer fresh("s3");
    EXPECT_EQ(kept.sign(request, credentials, region, time),
              fresh.sign(request, credentials, region, time));
  };
  check(kS3Example, "us-east-1", kS3ExampleTime);
  check(kS3Example, "us-east-1", kS3ExampleTime + 86400);
  check(kS3Example, "eu-west-1", kS3ExampleTime + 86400);
  check({"AKIAIOSFODNN7EXAMPLE", "another"}, "eu-west-1", kS3ExampleTime + 86400);
}

TEST(SigV4, EncodesKeysByTheRulesOfS3) {
  EXPECT_EQ(uri_encode("a b/c+d&e=\xC3\xBC*'()!~", true),
            "a%20b/c%2Bd%26e%3D%C3%BC%2A%27%28%29%21~");
  EXPECT_EQ(uri_encode("a/b", false), "a%2Fb");
}

// RFC 4231, test cases 1 and 6 (a key longer than a block).
TEST(Hmac, GivesThePublishedDigests) {
  const auto check = [](const std::vector<std::uint8_t>& key, const char* text,
                        std::uint32_t first) {
    const Sha256Digest digest = hmac_sha256(key, text);
    EXPECT_EQ((std::uint32_t{digest[0]} << 24) | (std::uint32_t{digest[1]} << 16) |
                  (std::uint32_t{digest[2]} << 8) | digest[3],
              first);
  };
  check(std::vector<std::uint8_t>(20, 0x0b), "Hi There", 0xb0344c61);
  check(std::vector<std::uint8_t>(131, 0xaa),
        "Test Using Larger Than Block-Size Key - Hash Key First", 0x60e43159);
}

TEST(AmzDate, IsInUtc) {
  EXPECT_EQ(amz_date(1440938160), "20150830T123600Z");
  EXPECT_EQ(amz_date(951782399), "20000228T235959Z");
}

}  // namespace
}  // namespace sluice::storage::sigv4_test
