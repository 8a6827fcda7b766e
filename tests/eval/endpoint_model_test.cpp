// tests/eval/endpoint_model_test.cpp - an OpenAI-compatible server on this machine: answers,
// refusals, and that no perplexity is made up.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/endpoint_model.h"

#include "sluice/eval/evaluate.h"

#include <gtest/gtest.h>

#include "tests/storage/http_server.h"
#include <mutex>

namespace sluice::eval::endpoint_model_test {
namespace {

using storage::testing::HttpReply;
using storage::testing::HttpRequest;
using storage::testing::HttpServer;

HttpReply json_reply(const Json& json, int status = 200) {
  HttpReply reply;
  reply.status = status;
  reply.headers = {{"Content-Type", "application/json"}};
  reply.body = dump_json(json, -1);
  return reply;
}

EvalConfig config_of(const HttpServer& server) {
  EvalConfig config;
  config.endpoint = server.url() + "/v1/";
  config.allow_network = true;
  config.probes = {"code_sanity_20"};
  return config;
}

TEST(EndpointModel, AsksGreedyCompletionsOfTheFirstModel) {
  std::mutex mutex;
  std::vector<Json> bodies;
  HttpServer server([&](const HttpRequest& request) {
    if (request.path == "/v1/models")
      return json_reply({{"data", {{{"id", "tiny"}}, {{"id", "other"}}}}});
    const std::scoped_lock lock(mutex);
    bodies.push_back(*parse_json(request.body, "body"));
    return json_reply({{"choices", {{{"text", " def\nmore"}}}}});
  });
  const auto result = run_eval(config_of(server));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->model["name"], "tiny");
  EXPECT_EQ(result->probes[0].answers[0].response, " def");
  EXPECT_EQ(result->probes[0].correct(), 1);
  EXPECT_FALSE(result->ppl_fixed_shard);
  EXPECT_NE(result->no_ppl.find("no probabilities"), std::string::npos);
  ASSERT_EQ(bodies.size(), 20U);
  EXPECT_EQ(bodies[0]["model"], "tiny");
  EXPECT_EQ(bodies[0]["temperature"], 0);
  EXPECT_EQ(bodies[0]["max_tokens"], 32);
  EXPECT_EQ(bodies[0]["seed"], 42);
  EXPECT_EQ(bodies[0]["stop"], "\n");
}

TEST(EndpointModel, AReplyOfAnotherShapeIsAWrongAnswer) {
  HttpServer server([](const HttpRequest&) { return json_reply({{"choices", Json::array()}}); });
  EvalConfig config = config_of(server);
  config.endpoint_model = "mine";  // nothing is looked up
  const auto result = run_eval(config);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->model["name"], "mine");
  EXPECT_EQ(result->probes[0].correct(), 0);
  EXPECT_FALSE(result->probes[0].answers[0].error.empty());
}

TEST(EndpointModel, ARefusalEndsItAndNamesTheAddress) {
  HttpServer server([](const HttpRequest&) { return json_reply({{"error", "no key"}}, 401); });
  const auto result = run_eval(config_of(server));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("401"), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().message.find("/v1/models"), std::string::npos);
}

TEST(EndpointModel, RefusesWhatIsNoServerOfModels) {
  HttpServer server([](const HttpRequest&) { return json_reply({{"data", Json::array()}}); });
  EXPECT_EQ(run_eval(config_of(server)).error().code, Errc::invalid_input);
  EvalConfig config = config_of(server);
  config.endpoint = "ftp://127.0.0.1/v1";
  EXPECT_EQ(run_eval(config).error().code, Errc::usage);
  config = config_of(server);
  config.allow_network = false;
  EXPECT_EQ(run_eval(config).error().code, Errc::usage);
  EXPECT_EQ(server.requests(), 1U);
}

}  // namespace
}  // namespace sluice::eval::endpoint_model_test
