// tests/storage/fault_server_test.cpp - the server that tests the client is itself tested, by a
// client of a few lines over a socket.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/fault_server.h"

#include "sluice/core/sha256.h"
#include "sluice/core/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::storage::testing::fault_server_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Everything the server sends until it closes; "reset" at the end when it did so by RST.
std::string exchange(int port, const std::string& text) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{10, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  std::string out;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) > 0) {
    char bytes[4096];
    ssize_t got = 0;
    while ((got = ::recv(socket, bytes, sizeof bytes, 0)) > 0)
      out.append(bytes, static_cast<std::size_t>(got));
    if (got < 0) out += errno == ECONNRESET ? "reset" : "no answer in time";
  }
  ::close(socket);
  return out;
}

std::string body_of(const std::string& reply) {
  const std::size_t end = reply.find("\r\n\r\n");
  return end == std::string::npos ? "" : reply.substr(end + 4);
}

std::string made(const std::string& key, std::uint64_t offset, std::size_t size,
                 std::uint64_t version = 0) {
  std::string out(size, '\0');
  generated_content(std::as_writable_bytes(std::span(out)), key, version, offset);
  return out;
}

class FaultServerTest : public ::testing::Test {
 protected:
  static FaultServerOptions options() {
    FaultServerOptions options;
    options.signature.anonymous = true;
    options.generated = {.prefix = "set/", .suffix = ".bin", .count = 1'000'000, .size = 4096};
    return options;
  }
  std::string get(const std::string& target, const std::string& headers = "",
                  const std::string& method = "GET") {
    return exchange(server_.port(), method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
                                        headers + "Connection: close\r\n\r\n");
  }
  std::string range(std::uint64_t first, std::uint64_t last) {
    return get("/bucket/set/00000007.bin",
               "Range: bytes=" + std::to_string(first) + "-" + std::to_string(last) + "\r\n");
  }
  FaultServer server_{options()};
};

TEST_F(FaultServerTest, ContentFollowsFromKeyVersionAndOffset) {
  const std::string whole = made("set/00000007.bin", 0, 4096);
  for (const std::size_t offset : {0U, 1U, 7U, 8U, 13U, 4000U})
    for (const std::size_t size : {1U, 7U, 8U, 9U, 64U})
      EXPECT_EQ(made("set/00000007.bin", offset, size), whole.substr(offset, size)) << offset;
  EXPECT_NE(made("set/00000008.bin", 0, 64), whole.substr(0, 64));
  EXPECT_NE(made("set/00000007.bin", 0, 64, 1), whole.substr(0, 64));
}

TEST_F(FaultServerTest, RangesAndWholeObjects) {
  const std::string part = range(100, 299);
  EXPECT_THAT(part, HasSubstr("HTTP/1.1 206 "));
  EXPECT_THAT(part, HasSubstr("Content-Range: bytes 100-299/4096\r\n"));
  EXPECT_EQ(body_of(part), made("set/00000007.bin", 100, 200));
  EXPECT_EQ(body_of(range(4000, 9999)).size(), 96U);
  EXPECT_THAT(range(4096, 4097), HasSubstr("416 "));
  const std::string whole = get("/bucket/set/00000007.bin");
  EXPECT_THAT(whole, HasSubstr("HTTP/1.1 200 "));
  EXPECT_EQ(body_of(whole), made("set/00000007.bin", 0, 4096));
  const std::string head = get("/bucket/set/00000007.bin", "", "HEAD");
  EXPECT_THAT(head, HasSubstr("Content-Length: 4096\r\n"));
  EXPECT_EQ(body_of(head), "");
  EXPECT_THAT(get("/bucket/set/01000000.bin"), HasSubstr("<Code>NoSuchKey</Code>"));
  EXPECT_THAT(get("/other/set/00000007.bin"), HasSubstr("<Code>NoSuchBucket</Code>"));
}

TEST_F(FaultServerTest, AnObjectPutInHasItsOwnETag) {
  server_.put("a & b", "one");
  const std::string first = get("/bucket/a%20%26%20b");
  EXPECT_EQ(body_of(first), "one");
  const std::string etag = first.substr(first.find("ETag: ") + 6, 34);
  server_.put("a & b", "two");
  EXPECT_EQ(body_of(get("/bucket/a%20%26%20b")), "two");
  EXPECT_THAT(get("/bucket/a%20%26%20b", "If-Match: " + etag + "\r\n"), HasSubstr("412 "));
}

TEST_F(FaultServerTest, ListingPagesInOrderOverGeneratedAndHeldKeys) {
  server_.put("set/00000001.bin", "held instead");
  server_.put("set/00000001.bin.more", "held between");
  std::vector<std::string> keys;
  std::string token;
  for (int page = 0; page < 3; ++page) {
    const std::string text = get("/bucket?list-type=2&max-keys=2&prefix=set%2F0000000" +
                                 (token.empty() ? std::string() : "&continuation-token=" + token));
    for (std::size_t at = text.find("<Key>"); at != std::string::npos;
         at = text.find("<Key>", at + 1))
      keys.push_back(text.substr(at + 5, text.find('<', at + 5) - at - 5));
    const std::size_t at = text.find("<NextContinuationToken>");
    ASSERT_NE(at, std::string::npos);
    token = text.substr(at + 23, text.find('<', at + 23) - at - 23);
  }
  EXPECT_EQ(join(keys),
            "set/00000000.bin, set/00000001.bin, set/00000001.bin.more, set/00000002.bin, "
            "set/00000003.bin, set/00000004.bin");
  const std::string end = get("/bucket?list-type=2&start-after=set%2F00999998.bin");
  EXPECT_THAT(end, HasSubstr("<KeyCount>1</KeyCount>"));
  EXPECT_THAT(end, HasSubstr("<IsTruncated>false</IsTruncated>"));
  EXPECT_THAT(get("/bucket?list-type=2&prefix=none"), HasSubstr("<KeyCount>0</KeyCount>"));
}

TEST_F(FaultServerTest, EveryFaultIsWhatItSays) {
  const std::string right = made("set/00000007.bin", 8, 100);
  const auto with = [&](Fault fault) {
    server_.inject(fault);
    return range(8, 107);
  };
  EXPECT_THAT(with(Fault::slow_down), HasSubstr("<Code>SlowDown</Code>"));
  EXPECT_EQ(body_of(with(Fault::truncated)), right.substr(0, 50));
  EXPECT_THAT(with(Fault::reset), ::testing::EndsWith("reset"));
  EXPECT_EQ(body_of(with(Fault::slow_first_byte)), right);
  const std::string shifted = with(Fault::wrong_content_range);
  EXPECT_THAT(shifted, HasSubstr("Content-Range: bytes 9-108/4096\r\n"));
  EXPECT_EQ(body_of(shifted), made("set/00000007.bin", 9, 100));
  const std::string whole = with(Fault::whole_object);
  EXPECT_THAT(whole, HasSubstr("HTTP/1.1 200 "));
  EXPECT_THAT(whole, Not(HasSubstr("Content-Range")));
  EXPECT_EQ(body_of(whole), made("set/00000007.bin", 0, 4096));
  const std::string odd = with(Fault::range_with_200);
  EXPECT_THAT(odd, HasSubstr("HTTP/1.1 200 "));
  EXPECT_THAT(odd, HasSubstr("Content-Range: bytes 8-107/4096\r\n"));
  EXPECT_EQ(body_of(odd), right);
  const std::string changed = with(Fault::changed_etag);
  EXPECT_THAT(changed, HasSubstr("206 "));
  EXPECT_NE(body_of(changed), right);
  EXPECT_THAT(with(Fault::redirect),
              HasSubstr("Location: http://127.0.0.1/bucket/set/00000007.bin\r\n"));
  EXPECT_THAT(with(Fault::redirect), HasSubstr("x-amz-bucket-region: us-east-1\r\n"));
  EXPECT_THAT(with(Fault::clock_skew), HasSubstr("<Code>RequestTimeTooSkewed</Code>"));
  EXPECT_THAT(with(Fault::server_error), HasSubstr("<Code>InternalError</Code>"));
  for (std::size_t i = 0; i < kFaults; ++i)
    if (can_be(static_cast<Fault>(i), Protocol::s3)) {
      EXPECT_EQ(server_.delivered(static_cast<Fault>(i)), i == 8 ? 2U : 1U) << i;
    }
  EXPECT_EQ(body_of(range(8, 107)), right);
}

TEST_F(FaultServerTest, ThePlanIsSeededAndKeepsItsRates) {
  FaultPlan plan = FaultPlan::uniform(0.5, 3);
  plan.slow_s = 0;
  plan.burst_s = 60;  // the count alone ends a burst, however slow the machine
  std::vector<std::uint64_t> counts;
  for (int run = 0; run < 2; ++run) {
    std::array<std::uint64_t, kFaults> before{};
    for (std::size_t i = 0; i < kFaults; ++i)
      before[i] = server_.delivered(static_cast<Fault>(i));
    server_.set_plan(plan);
    for (int i = 0; i < 400; ++i)
      range(0, 9);
    for (std::size_t i = 0; i < kFaults; ++i)
      counts.push_back(server_.delivered(static_cast<Fault>(i)) - before[i]);
  }
  for (std::size_t i = 0; i < kFaults; ++i) {
    EXPECT_EQ(counts[i], counts[i + kFaults]) << i;
    if (!can_be(static_cast<Fault>(i), Protocol::s3)) continue;
    EXPECT_GE(counts[i], 8U) << i;  // 18 expected
    EXPECT_LE(counts[i], 48U) << i;
  }
}

// The examples of "Signature Calculations for the Authorization Header" in S3's documentation.
struct Published {
  std::string path, query;
  std::vector<std::pair<std::string, std::string>> more;
  std::string signed_headers, signature;
};

TEST(SignatureCheck, PublishedExamples) {
  const std::string empty = sha256_hex(std::string_view());
  const std::vector<Published> examples{
      {"/test.txt",
       "",
       {{"range", "bytes=0-9"}},
       "host;range;x-amz-content-sha256;x-amz-date",
       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
      {"/",
       "lifecycle",
       {},
       "host;x-amz-content-sha256;x-amz-date",
       "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
      {"/",
       "max-keys=2&prefix=J",
       {},
       "host;x-amz-content-sha256;x-amz-date",
       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"}};
  SignatureRules rules;
  rules.keys["AKIAIOSFODNN7EXAMPLE"].secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  for (const Published& example : examples) {
    HttpRequest request;
    request.method = "GET";
    request.path = example.path;
    request.query = example.query;
    request.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                       {"x-amz-content-sha256", empty},
                       {"x-amz-date", "20130524T000000Z"},
                       {"authorization",
                        "AWS4-HMAC-SHA256 "
                        "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                        "SignedHeaders=" +
                            example.signed_headers + ",Signature=" + example.signature}};
    request.headers.insert(request.headers.end(), example.more.begin(), example.more.end());
    const std::int64_t then = parse_amz_date("20130524T000000Z");
    ASSERT_EQ(then, 1'369'353'600);
    EXPECT_EQ(check_signature(request, rules, then + 899).code, "") << example.query;
    EXPECT_EQ(check_signature(request, rules, then + 901).code, "RequestTimeTooSkewed");
    HttpRequest forged = request;
    forged.path += "x";
    EXPECT_EQ(check_signature(forged, rules, then).code, "SignatureDoesNotMatch");
    SignatureRules other = rules;
    other.keys.begin()->second.secret += "x";
    EXPECT_EQ(check_signature(request, other, then).code, "SignatureDoesNotMatch");
    other = rules;
    other.region = "eu-west-1";
    EXPECT_EQ(check_signature(request, other, then).code, "AuthorizationHeaderMalformed");
    other = rules;
    other.keys.begin()->second.session_token = "token";
    EXPECT_EQ(check_signature(request, other, then).code, "InvalidToken");
    EXPECT_EQ(check_signature(request, {}, then).code, "InvalidAccessKeyId");
    request.headers.emplace_back("x-amz-extra", "1");
    EXPECT_EQ(check_signature(request, rules, then).code, "AccessDenied");
  }
  HttpRequest bare;
  bare.method = "GET";
  bare.path = "/";
  EXPECT_EQ(check_signature(bare, rules, 0).code, "AccessDenied");
  rules.anonymous = true;
  EXPECT_EQ(check_signature(bare, rules, 0).code, "");
}

}  // namespace
}  // namespace sluice::storage::testing::fault_server_test
