// tests/storage/credential_test.cpp - where credentials are found, in which order, and when they
// are fetched anew; the services are servers of ours that answer as the real ones are documented
// to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/storage/credentials/chain.h"
#include "sluice/storage/credentials/fetch.h"
#include "sluice/storage/credentials/profile.h"
#include "sluice/storage/credentials/refresh.h"
#include "sluice/storage/credentials/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/http_server.h"
#include <latch>
#include <map>
#include <thread>

namespace sluice::storage::credential_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

/// What a server is asked, and what it answers by method and path.
class Scripted {
 public:
  void answer(const std::string& line, int status, std::string body) {
    const std::scoped_lock lock(mutex_);
    answers_[line] = {status, std::move(body)};
  }
  [[nodiscard]] std::vector<testing::HttpRequest> asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  [[nodiscard]] std::string url() const { return server_.url(); }

 private:
  testing::HttpReply handle(const testing::HttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    asked_.push_back(request);
    testing::HttpReply reply;
    const auto it = answers_.find(request.method + " " + request.path);
    reply.status = it == answers_.end() ? 404 : it->second.first;
    reply.body = it == answers_.end() ? "" : it->second.second;
    return reply;
  }

  std::mutex mutex_;
  std::map<std::string, std::pair<int, std::string>> answers_;
  std::vector<testing::HttpRequest> asked_;
  testing::HttpServer server_{[this](const auto& request) { return handle(request); }};
};

class CredentialTest : public ::testing::Test {
 protected:
  CredentialOptions options(Variables variables) {
    CredentialOptions options;
    variables.try_emplace("HOME", folder_ / "home");
    variables.try_emplace("AWS_EC2_METADATA_DISABLED", "true");
    options.environment = [variables](const std::string& name) -> std::optional<std::string> {
      const auto it = variables.find(name);
      return it == variables.end() ? std::nullopt : std::optional(it->second);
    };
    options.now = [this] { return now_; };
    return options;
  }
  /// "key secret token" of what is found, or the error.
  std::string found(const CredentialOptions& options) {
    const auto credentials = open_credentials(options)->get();
    if (!credentials) return "error: " + credentials.error().message;
    return credentials->access_key + " " + credentials->secret_key + " " +
           credentials->session_token;
  }
  std::string put(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    EXPECT_TRUE(write_file_atomic(path, content, Flush::later));
    return path.string();
  }
  testing_support::TemporaryFolder folder_;
  std::chrono::system_clock::time_point now_ = *parse_utc("2026-11-15T12:00:00Z");
};

TEST_F(CredentialTest, TheOrderIsKept) {
  put("home/.aws/credentials",
      "[default]\naws_access_key_id = file\naws_secret_access_key=s2\n\n"
      "[other]\naws_access_key_id = other\naws_secret_access_key = s3\naws_session_token = t3\n");
  const Variables variables{{"AWS_ACCESS_KEY_ID", "env"}, {"AWS_SECRET_ACCESS_KEY", "s1"}};
  CredentialOptions given = options(variables);
  given.keys = Credentials{"given", "s0", {}, {}};
  EXPECT_EQ(found(given), "given s0 ");
  EXPECT_EQ(found(options(variables)), "env s1 ");
  EXPECT_EQ(found(options({})), "file s2 ");
  EXPECT_EQ(found(options({{"AWS_PROFILE", "other"}})), "other s3 t3");
  CredentialOptions named = options(variables);
  named.profile = "other";
  EXPECT_EQ(found(named), "other s3 t3");
}

TEST_F(CredentialTest, WhatIsSetUpButBrokenIsAnError) {
  EXPECT_THAT(found(options({{"AWS_ACCESS_KEY_ID", "env"}})),
              HasSubstr("AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not"));
  EXPECT_THAT(found(options({{"AWS_PROFILE", "none"}})), HasSubstr("AWS profile \"none\""));
  EXPECT_THAT(found(options({{"AWS_WEB_IDENTITY_TOKEN_FILE", "x"}})), HasSubstr("AWS_ROLE_ARN"));
  EXPECT_THAT(found(options({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/x"}})),
              HasSubstr("must be https"));
  put("config", "[profile a]\nsso_session = s\n");
  EXPECT_THAT(found(options({{"AWS_PROFILE", "a"}, {"AWS_CONFIG_FILE", folder_ / "config"}})),
              HasSubstr("sso_session, which is not supported"));
  EXPECT_THAT(found(options({})), HasSubstr("no AWS credentials"));
}

TEST_F(CredentialTest, ProfileFiles) {
  const std::string config =
      "# comment\n[default]\nregion = eu-west-1\n[ profile  two ]\r\naws_access_key_id = k # not "
      "a comment\r\ns3 =\r\n  max_queue_size = 1\r\n[two]\naws_access_key_id = wrong\n";
  EXPECT_EQ(parse_profile(config, "two", true)->at("aws_access_key_id"), "k # not a comment");
  EXPECT_EQ(parse_profile(config, "two", false)->at("aws_access_key_id"), "wrong");
  EXPECT_EQ(parse_profile(config, "two", true)->count("max_queue_size"), 0U);
  EXPECT_EQ(parse_profile(config, "default", true)->at("region"), "eu-west-1");
  EXPECT_FALSE(parse_profile(config, "three", true));
  EXPECT_FALSE(parse_profile("[unclosed", "three", true));
  EXPECT_TRUE(parse_profile("[", "", false));
}

TEST_F(CredentialTest, TokensGoOnlyToPrivateServices) {
  for (const char* good : {"https://example.com/x", "http://127.0.0.1:8080/x", "http://localhost",
                           "http://169.254.170.2/v2", "http://169.254.170.23/v1",
                           "http://[fd00:ec2::23]/v1", "http://[::1]:80/"})
    EXPECT_TRUE(is_private_service(good)) << good;
  for (const char* bad :
       {"http://example.com/", "http://127.0.0.1.example.com/", "ftp://localhost",
        "http://localhost@example.com/", "http://localhost.example.com", "", "http://10.0.0.1/"})
    EXPECT_FALSE(is_private_service(bad)) << bad;
}

TEST_F(CredentialTest, WebIdentityAsksSts) {
  Scripted sts;
  sts.answer(
      "POST /", 200,
      "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
      "<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>a&amp;b</SecretAccessKey>"
      "<SessionToken>token/+=</SessionToken><Expiration>2026-11-15T13:00:00Z</Expiration>"
      "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  const Variables variables{{"AWS_WEB_IDENTITY_TOKEN_FILE", put("token", "ey.J+/=\n")},
                            {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"},
                            {"AWS_ROLE_SESSION_NAME", "me"},
                            {"AWS_ENDPOINT_URL_STS", sts.url() + "/"}};
  EXPECT_EQ(found(options(variables)), "ASIA a&b token/+=");
  ASSERT_EQ(sts.asked().size(), 1U);
  EXPECT_EQ(sts.asked()[0].body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3A"
            "role%2Fr&RoleSessionName=me&WebIdentityToken=ey.J%2B%2F%3D");
  sts.answer("POST /", 400,
             "<ErrorResponse><Error><Code>ExpiredTokenException</Code><Message>Token ey.J+/= "
             "expired</Message></Error></ErrorResponse>");
  const std::string error = found(options(variables));
  EXPECT_THAT(error, HasSubstr("status 400 ExpiredTokenException"));
  EXPECT_THAT(error, Not(HasSubstr("ey.J")));
}

constexpr const char* kKeys =
    R"({"Code": "Success", "AccessKeyId": "ASIA", "SecretAccessKey": "sec", "Token": "tok",
        "Expiration": "2026-11-15T13:00:00.123Z"})";

TEST_F(CredentialTest, ContainersAreAskedWithTheirToken) {
  Scripted agent;
  agent.answer("GET /creds", 200, kKeys);
  CredentialOptions relative = options({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/creds"},
                                        {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc"}});
  relative.container_endpoint = agent.url();
  EXPECT_EQ(found(relative), "ASIA sec tok");
  EXPECT_EQ(agent.asked().back().header("authorization"), "Basic abc");
  EXPECT_EQ(found(options({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.url() + "/creds"},
                           {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", put("t", "from file\n")}})),
            "ASIA sec tok");
  EXPECT_EQ(agent.asked().back().header("authorization"), "from file");
  agent.answer("GET /creds", 200, R"({"AccessKeyId": "ASIA", "Secret": "hush"})");
  EXPECT_THAT(found(relative), HasSubstr("holds no credentials"));
  agent.answer("GET /creds", 500, "hush");
  EXPECT_THAT(found(relative), HasSubstr("status 500"));
  EXPECT_THAT(found(relative), Not(HasSubstr("hush")));
}

TEST_F(CredentialTest, InstanceMetadataNeedsASession) {
  Scripted metadata;
  metadata.answer("PUT /latest/api/token", 200, "session");
  metadata.answer("GET /latest/meta-data/iam/security-credentials/", 200, "my-role");
  metadata.answer("GET /latest/meta-data/iam/security-credentials/my-role", 200, kKeys);
  const Variables variables{{"AWS_EC2_METADATA_DISABLED", "false"},
                            {"AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url()}};
  EXPECT_EQ(found(options(variables)), "ASIA sec tok");
  const auto asked = metadata.asked();
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_EQ(asked[0].header("x-aws-ec2-metadata-token-ttl-seconds"), "21600");
  EXPECT_EQ(asked[1].header("x-aws-ec2-metadata-token"), "session");
  EXPECT_EQ(asked[2].header("x-aws-ec2-metadata-token"), "session");
  metadata.answer("GET /latest/meta-data/iam/security-credentials/", 404, "");
  EXPECT_THAT(found(options(variables)), HasSubstr("no AWS credentials"));
}

TEST_F(CredentialTest, AServiceThatNeverAnswersIsGivenUp) {
  testing::HttpServer silent([](const testing::HttpRequest&) {
    testing::HttpReply reply;
    reply.delay_s = 60;
    return reply;
  });
  CredentialOptions waiting = options({{"AWS_EC2_METADATA_DISABLED", "false"},
                                       {"AWS_EC2_METADATA_SERVICE_ENDPOINT", silent.url()}});
  waiting.metadata_limit_s = 0.1;
  EXPECT_THAT(found(waiting), HasSubstr("no AWS credentials"));
}

class RefreshTest : public CredentialTest {
 protected:
  std::shared_ptr<CredentialSource> source() {
    return refreshing_credentials(
        [this]() -> Result<Credentials> {
          const int number = ++fetches_;
          if (fails_) return Error{Errc::io, "no service"};
          return Credentials{"key" + std::to_string(number), "s", "t", now_ + 1h};
        },
        [this] { return now_; });
  }
  std::atomic<int> fetches_{0};
  bool fails_ = false;
};

TEST_F(RefreshTest, FetchedAnewFiveMinutesBeforeTheEnd) {
  const auto credentials = source();
  EXPECT_EQ(credentials->get()->access_key, "key1");
  now_ += 54min;
  EXPECT_EQ(credentials->get()->access_key, "key1");
  now_ += 1min;
  EXPECT_EQ(credentials->get()->access_key, "key2");
}

TEST_F(RefreshTest, WhatIsStillGoodIsUsedWhileNoBetterCanBeHad) {
  const auto credentials = source();
  EXPECT_TRUE(credentials->get());
  fails_ = true;
  now_ += 56min;
  EXPECT_EQ(credentials->get()->access_key, "key1");
  EXPECT_EQ(credentials->get()->access_key, "key1");
  EXPECT_EQ(fetches_, 2);  // not asked again for 30 s
  now_ += 31s;
  EXPECT_EQ(credentials->get()->access_key, "key1");
  EXPECT_EQ(fetches_, 3);
  now_ += 5min;
  EXPECT_EQ(credentials->get().error().message, "no service");
  fails_ = false;
  EXPECT_FALSE(credentials->get());  // still within the 30 s
  now_ += 31s;
  EXPECT_EQ(credentials->get()->access_key, "key5");
}

TEST_F(RefreshTest, RefusedOnesAreNotGivenOutAgain) {
  const auto credentials = source();
  const Credentials first = *credentials->get();
  EXPECT_TRUE(credentials->refused(first));
  const Credentials second = *credentials->get();
  EXPECT_EQ(second.access_key, "key2");
  EXPECT_TRUE(credentials->refused(first));  // a late word about what is gone
  EXPECT_EQ(credentials->get()->access_key, "key2");
}

TEST_F(RefreshTest, ARequestOfJustBeforeTheChangeMayBeMadeAgain) {
  std::string name = "first";
  const auto credentials = refreshing_credentials(
      [&]() -> Result<Credentials> {
        return Credentials{"key", "s", name, {}};
      },
      [this] { return now_; });
  EXPECT_FALSE(credentials->refused(*credentials->get())) << "the only ones there are";
  name = "second";
  EXPECT_TRUE(credentials->refused(*credentials->get()));
  EXPECT_TRUE(credentials->refused(*credentials->get())) << "another thread's, made with the first";
  now_ += 61s;
  EXPECT_FALSE(credentials->refused(*credentials->get()));
}

TEST_F(RefreshTest, ManyThreadsFetchOnce) {
  for (int round = 0; round < 50; ++round) {  // one that came late once fetched a second time
    fetches_ = 0;
    const auto credentials = source();
    std::latch start(8);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        EXPECT_EQ(credentials->get()->access_key, "key1");
      });
    for (std::thread& thread : threads)
      thread.join();
    ASSERT_EQ(fetches_, 1) << round;
  }
}

}  // namespace
}  // namespace sluice::storage::credential_test
