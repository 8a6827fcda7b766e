// tests/storage/gcs_store_test.cpp - gs:// over the JSON API, against a server that pages, checks
// tokens and names generations as Google documents it, and over the XML API with HMAC keys.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/gcs_store.h"

#include "sluice/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/fault_server.h"
#include <algorithm>
#include <map>

namespace sluice::storage::gcs_store_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

struct Stored {
  std::string content;
  std::uint64_t generation = 1;
};

/// The JSON API as far as a reader needs it, and the two services that give out tokens.
class GcsServer {
 public:
  std::map<std::string, Stored> objects;  // not changed while a request is under way
  std::string token = "good";             // empty: anonymous
  std::uint64_t tokens_given = 0;
  int failures = 0;  // the next so many requests are answered with 503
  bool ignores_condition = false;
  std::vector<testing::HttpRequest> asked;

  [[nodiscard]] std::string url() const { return server_.url(); }

 private:
  static testing::HttpReply error(int status, const std::string& message) {
    testing::HttpReply reply;
    reply.status = status;
    reply.body = dump_json({{"error", {{"code", status}, {"message", message}}}});
    return reply;
  }
  static Json described(const std::string& name, const Stored& stored) {
    return {{"name", name},
            {"size", std::to_string(stored.content.size())},
            {"generation", std::to_string(stored.generation)}};
  }
  static testing::HttpReply json(const Json& body) {
    testing::HttpReply reply;
    reply.body = dump_json(body);
    return reply;
  }

  testing::HttpReply handle(const testing::HttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    asked.push_back(request);
    if (request.path == "/computeMetadata/v1/instance/service-accounts/default/token") {
      if (request.header("metadata-flavor") != "Google") return error(403, "no flavour");
      ++tokens_given;
      return json({{"access_token", token}, {"expires_in", 3599}, {"token_type", "Bearer"}});
    }
    if (request.path == "/token") {
      ++tokens_given;
      return request.body ==
                     "grant_type=refresh_token&client_id=id&client_secret=se%2Fcret&"
                     "refresh_token=re%20fresh"
                 ? json({{"access_token", token}, {"expires_in", 3599}})
                 : error(400, "invalid_grant");
    }
    if (failures > 0) {
      --failures;
      return error(503, "backend error");
    }
    if (!token.empty() && request.header("authorization") != "Bearer " + token)
      return error(401, "Invalid Credentials");
    constexpr std::string_view kBase = "/storage/v1/b/bucket/o";
    if (!request.path.starts_with(kBase)) return error(404, "The specified bucket does not exist.");
    if (request.path == kBase) return list(request);
    return object(request, testing::percent_decode(request.path.substr(kBase.size() + 1)));
  }
  testing::HttpReply list(const testing::HttpRequest& request) {
    const std::string prefix = request.parameter("prefix");
    const std::size_t most = *testing::parse_number(request.parameter("maxResults"));
    const std::string after = request.parameter("pageToken");
    Json body = Json::object();
    for (auto it = objects.upper_bound(after); it != objects.end(); ++it) {
      if (!it->first.starts_with(prefix)) continue;
      if (body.contains("items") && body["items"].size() == std::min<std::size_t>(most, 2)) {
        body["nextPageToken"] = body["items"].back()["name"];
        break;
      }
      body["items"].push_back(described(it->first, it->second));
    }
    return json(body);
  }
  testing::HttpReply object(const testing::HttpRequest& request, const std::string& name) {
    const auto it = objects.find(name);
    if (it == objects.end()) return error(404, "No such object: bucket/" + name);
    if (request.parameter("alt") != "media") return json(described(name, it->second));
    const std::string condition = request.parameter("ifGenerationMatch");
    const std::string generation = std::to_string(it->second.generation);
    if (!ignores_condition && !condition.empty() && condition != generation)
      return error(412, "conditionNotMet");
    testing::HttpReply reply;
    const std::string range(request.header("range"));
    const std::uint64_t first = *testing::parse_number(range.substr(6, range.find('-') - 6));
    const std::uint64_t last = *testing::parse_number(range.substr(range.find('-') + 1));
    reply.status = 206;
    reply.body = it->second.content.substr(first, last - first + 1);
    reply.headers = {{"Content-Range",
                      "bytes " + range.substr(6) + "/" + std::to_string(it->second.content.size())},
                     {"x-goog-generation", generation},
                     {"x-goog-stored-content-encoding", "identity"}};
    return reply;
  }

  std::mutex mutex_;
  testing::HttpServer server_{[this](const auto& request) { return handle(request); }};
};

class GcsStoreTest : public ::testing::Test {
 protected:
  GcsStoreTest() {
    server_.objects["data/a b.bin"] = {"0123456789"};
    server_.objects["data/c/d+e.bin"] = {"abc", 7};
    server_.objects["data/f"] = {""};
    server_.objects["data/\xc3\xbc"] = {"umlaut"};
    server_.objects["database"] = {"not of this prefix"};
  }
  GcsOptions options(Variables variables = {{"GOOGLE_OAUTH_ACCESS_TOKEN", "good"}}) {
    GcsOptions options;
    options.bucket = "bucket";
    options.prefix = "data/";
    options.endpoint = server_.url();
    options.token.metadata_endpoint = server_.url();
    options.token.oauth_endpoint = server_.url() + "/token";
    options.token.environment = [variables](const std::string& name) -> std::optional<std::string> {
      const auto it = variables.find(name);
      return it == variables.end() ? std::nullopt : std::optional(it->second);
    };
    options.remote.retry.base_s = 0.001;
    return options;
  }
  static std::unique_ptr<ObjectStore> open(const GcsOptions& options) {
    auto store = open_gcs(options);
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  static std::string listed(ObjectStore& store) {
    std::string out;
    const Status status = store.list("", [&](std::span<const Object> objects) -> Status {
      for (const Object& object : objects)
        out += object.key + ":" + std::to_string(object.size) + ":" + object.version + " ";
      return ok;
    });
    return status ? out : "error: " + status.error().message;
  }
  static std::string read(ObjectStore& store, const Object& object, std::uint64_t offset,
                          std::size_t size) {
    ReadBuffer buffer;
    const auto bytes = store.read(object, offset, size, buffer);
    if (!bytes) return "error: " + bytes.error().message;
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }
  GcsServer server_;
};

TEST_F(GcsStoreTest, ListsAllPagesWithSizesAndGenerations) {
  const auto store = open(options());
  EXPECT_EQ(store->name(), "gs://bucket/data");
  EXPECT_EQ(listed(*store), "a b.bin:10:1 c/d+e.bin:3:7 f:0:1 \xc3\xbc:6:1 ");
  EXPECT_EQ(server_.asked.size(), 2U);
}

TEST_F(GcsStoreTest, ReadsRangesOfTheGenerationAskedFor) {
  const auto store = open(options());
  const auto object = store->stat("c/d+e.bin");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->version, "7");
  EXPECT_EQ(read(*store, *object, 1, 2), "bc");
  EXPECT_EQ(server_.asked.back().header("accept-encoding"), "gzip");
  EXPECT_EQ(read(*store, *store->stat("a b.bin"), 3, 4), "3456");
  EXPECT_EQ(read(*store, *store->stat("\xc3\xbc"), 0, 6), "umlaut");
  EXPECT_EQ(read(*store, *store->stat("f"), 0, 0), "");
}

TEST_F(GcsStoreTest, AnObjectReplacedSinceIsAnError) {
  const auto store = open(options());
  const Object object = *store->stat("c/d+e.bin");
  server_.objects["data/c/d+e.bin"] = {"xyz", 8};
  EXPECT_THAT(read(*store, object, 0, 3), HasSubstr("the object was replaced"));
  server_.ignores_condition = true;  // then our own comparison must see it
  const std::string error = read(*store, object, 0, 3);
  EXPECT_THAT(error, HasSubstr("gs://bucket/data/c/d+e.bin"));
  EXPECT_THAT(error, HasSubstr("version 8 where 7 was asked for"));
}

TEST_F(GcsStoreTest, RefusalsSayWhatIsWrong) {
  GcsOptions wrong = options({{"GOOGLE_OAUTH_ACCESS_TOKEN", "stolen-secret"}});
  const std::string refused = listed(*open(wrong));
  EXPECT_THAT(refused,
              HasSubstr("credentials refused (status 401: Invalid Credentials), 1 attempt"));
  EXPECT_THAT(refused, Not(HasSubstr("stolen")));
  EXPECT_EQ(open(options())->stat("none").error().code, Errc::not_found);
  GcsOptions elsewhere = options();
  elsewhere.bucket = "other";
  EXPECT_THAT(listed(*open(elsewhere)), HasSubstr("The specified bucket does not exist."));
  GcsOptions none = options({});
  none.token.metadata_endpoint = "http://127.0.0.1:1";
  EXPECT_THAT(listed(*open(none)), HasSubstr("no Google credentials"));
  GcsOptions bad = options();
  bad.bucket = "A/B";
  EXPECT_EQ(open_gcs(bad).error().code, Errc::usage);
  bad = options();
  bad.endpoint = "127.0.0.1";
  EXPECT_THAT(open_gcs(bad).error().message, HasSubstr("endpoint `127.0.0.1`"));
}

TEST_F(GcsStoreTest, FailuresAreRetried) {
  const auto store = open(options());
  const Object object = *store->stat("a b.bin");
  server_.failures = 3;
  EXPECT_EQ(read(*store, object, 0, 10), "0123456789");
  server_.failures = 100;
  EXPECT_THAT(read(*store, object, 0, 10), HasSubstr("backend error), 8 attempts"));
}

TEST_F(GcsStoreTest, TokensOfTheInstanceAreAskedForAgainWhenRefused) {
  const auto store = open(options({}));
  EXPECT_THAT(listed(*store), HasSubstr("a b.bin"));
  EXPECT_EQ(server_.tokens_given, 1U);
  server_.token = "newer";
  EXPECT_THAT(listed(*store), HasSubstr("a b.bin"));
  EXPECT_EQ(server_.tokens_given, 2U);
}

TEST_F(GcsStoreTest, ALoginOfGcloudIsUsed) {
  const testing_support::TemporaryFolder folder;
  const auto with = [&](const std::string& text) {
    EXPECT_TRUE(write_file_atomic(folder / "login.json", text, Flush::later));
    return listed(*open(options({{"GOOGLE_APPLICATION_CREDENTIALS", folder / "login.json"}})));
  };
  EXPECT_THAT(with(R"({"type": "authorized_user", "client_id": "id", "client_secret": "se/cret",
                       "refresh_token": "re fresh"})"),
              HasSubstr("a b.bin"));
  EXPECT_THAT(with(R"({"type": "service_account"})"),
              HasSubstr("of type \"service_account\", only authorized_user"));
}

TEST_F(GcsStoreTest, EmulatorsAreAskedWithoutTokenAndGenerations) {
  server_.token = "";
  GcsOptions emulated = options({{"STORAGE_EMULATOR_HOST", server_.url().substr(7)},
                                 {"GS_ACCESS_KEY_ID", "k"},
                                 {"GS_SECRET_ACCESS_KEY", "s"}});
  emulated.endpoint = "";
  const auto store = open(emulated);
  EXPECT_THAT(listed(*store), HasSubstr("c/d+e.bin:3: "));
  EXPECT_EQ(read(*store, *store->stat("c/d+e.bin"), 0, 3), "abc");
  EXPECT_EQ(server_.asked.back().header("authorization"), "");

  GcsOptions anonymous = options();
  anonymous.anonymous = true;
  EXPECT_THAT(listed(*open(anonymous)), HasSubstr("c/d+e.bin:3: "));
  EXPECT_EQ(server_.asked.back().header("authorization"), "");
}

TEST_F(GcsStoreTest, HmacKeysGoThroughTheXmlApi) {
  testing::FaultServerOptions xml;
  xml.signature.region = "auto";
  xml.signature.keys["GOOG1E"].secret = "hmac";
  testing::FaultServer server(xml);
  server.put("data/a", "0123456789");
  GcsOptions keyed = options({{"GS_ACCESS_KEY_ID", "GOOG1E"}, {"GS_SECRET_ACCESS_KEY", "hmac"}});
  keyed.endpoint = server.url();
  const auto store = open(keyed);
  EXPECT_EQ(store->name(), "gs://bucket/data");
  EXPECT_THAT(listed(*store), HasSubstr("a:10:"));
  EXPECT_EQ(read(*store, *store->stat("a"), 2, 3), "234");
  keyed.hmac = Credentials{"GOOG1E", "wrong", {}, {}};
  EXPECT_THAT(listed(*open(keyed)), HasSubstr("gs://bucket/data"));
  EXPECT_THAT(listed(*open(keyed)), HasSubstr("SignatureDoesNotMatch"));
}

}  // namespace
}  // namespace sluice::storage::gcs_store_test
