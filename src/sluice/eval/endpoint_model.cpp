// sluice/eval/endpoint_model.cpp - completions over HTTP.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/endpoint_model.h"

#include "sluice/core/text.h"
#include "sluice/eval/gpt_model.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace sluice::eval {
namespace {

constexpr std::size_t kMaxAnswer = std::size_t{1} << 20;  // bytes of a reply
constexpr storage::HttpLimits kLimits{10, 600, 600};      // a large model may think for long

/// Absent where a reply has another shape.
const Json* text_of(const Json& reply) {
  const auto choices = reply.find("choices");
  if (choices == reply.end() || !choices->is_array() || choices->empty()) return nullptr;
  const Json& first = (*choices)[0];
  if (!first.is_object() || !first.contains("text") || !first["text"].is_string()) return nullptr;
  return &first["text"];
}

}  // namespace

storage::HttpRequest EndpointModel::request(const char* method, const char* path,
                                            std::string body) const {
  storage::HttpRequest out;
  out.method = method;
  out.url = address_ + path;
  out.headers = {"Content-Type: application/json"};
  // Read here, by the only thread that evaluates.
  const char* key = std::getenv("OPENAI_API_KEY");  // NOLINT(concurrency-mt-unsafe)
  if (key != nullptr && *key != '\0')
    out.headers.push_back(fmt::format("Authorization: Bearer {}", key));
  out.body = std::move(body);
  return out;
}

Result<Json> EndpointModel::call(storage::HttpRequest request) const {
  const std::string url = printable(request.url);
  SLUICE_TRY(const storage::HttpReply reply,
             client_->call(std::move(request), kMaxAnswer, kLimits, nullptr));
  if (reply.head.status != 200) {
    return Error{Errc::io, fmt::format("{}: answered with status {}: {}", url, reply.head.status,
                                       printable(reply.body.substr(0, 200)))};
  }
  SLUICE_TRY(Json json, parse_json(reply.body, url));
  if (!json.is_object())
    return Error{Errc::invalid_input, fmt::format("{}: answered with no JSON object", url)};
  return json;
}

Result<std::unique_ptr<EndpointModel>> EndpointModel::open(const EvalConfig& config) {
  std::unique_ptr<EndpointModel> out(new EndpointModel());
  SLUICE_CHECK(storage::check_no_password("endpoint", config.endpoint));
  out->address_ = config.endpoint;
  while (out->address_.ends_with('/'))
    out->address_.pop_back();
  if (!out->address_.starts_with("http://") && !out->address_.starts_with("https://")) {
    return Error{Errc::usage,
                 fmt::format("endpoint '{}'; an address that begins with http:// or https:// is "
                             "accepted",
                             printable(config.endpoint))};
  }
  out->model_ = config.endpoint_model;
  out->seed_ = config.seed;
  out->cancel_fd_ = config.cancel_fd;
  SLUICE_TRY(out->client_, storage::HttpClient::open());
  if (!out->model_.empty()) return out;
  SLUICE_TRY(const Json models, out->call(out->request("GET", "/models", "")));
  const Json list = models.value("data", Json::array());
  if (!list.is_array() || list.empty() || !list[0].is_object() ||
      !list[0].value("id", Json()).is_string()) {
    return Error{Errc::invalid_input,
                 fmt::format("{}/models: lists no model; --endpoint-model NAME is accepted",
                             printable(out->address_))};
  }
  out->model_ = list[0]["id"].get<std::string>();
  return out;
}

Json EndpointModel::describe() const {
  return {{"kind", "endpoint"}, {"name", model_}, {"address", address_}};
}

Result<Score> EndpointModel::score(std::string_view /*text*/, int /*max_length*/, int /*stride*/,
                                   Progress& /*progress*/) {
  return Error{Errc::unsupported,
               "an OpenAI-compatible endpoint gives no probabilities of a given text; only the "
               "probes were asked"};
}

Result<std::vector<Answer>> EndpointModel::answer(const std::vector<Question>& questions,
                                                  int max_new_tokens, Progress& progress) {
  std::vector<Answer> answers;
  Progress::Bar bar = progress.bar("answers", questions.size(), "items");
  for (const Question& question : questions) {
    SLUICE_CHECK(check_cancelled(cancel_fd_));
    Json body{{"model", model_},
              {"prompt", question.prompt},
              {"max_tokens", max_new_tokens},
              {"temperature", 0},
              {"seed", seed_}};
    if (!question.stop.empty()) body["stop"] = question.stop;
    SLUICE_TRY(const Json reply, call(request("POST", "/completions", dump_json(body, -1))));
    const Json* text = text_of(reply);
    if (text == nullptr) {
      answers.push_back({{}, "the reply has no choices[0].text"});
    } else {
      answers.push_back({std::string(until(text->get<std::string>(), question.stop))});
    }
    bar.add();
  }
  return answers;
}

}  // namespace sluice::eval
