// sluice/storage/credentials/service.cpp - attempts, and answers read without being quoted.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/credentials/service.h"

#include "sluice/core/file.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/storage/remote/retry.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace sluice::storage {
namespace {

constexpr std::size_t kAnswerLimit = std::size_t{64} << 10;
constexpr int kAttempts = 3;

}  // namespace

CredentialService::CredentialService(std::shared_ptr<HttpClient> client, std::string name,
                                     double limit_s)
    : client_(std::move(client)), name_(std::move(name)), limit_s_(limit_s) {}

Result<CredentialService> CredentialService::open(std::string name, const Environment& environment,
                                                  double limit_s) {
  HttpOptions http;
  http.ca_file = environment("AWS_CA_BUNDLE").value_or("");
  SLUICE_TRY(auto client, HttpClient::open(http));
  return CredentialService(std::move(client), std::move(name), limit_s);
}

Result<HttpReply> CredentialService::once(const HttpRequest& request) const {
  return client_->call(request, kAnswerLimit, HttpLimits{limit_s_, limit_s_, limit_s_}, nullptr);
}

Result<HttpReply> CredentialService::ask(const HttpRequest& request) const {
  const RetryPolicy policy{.max_attempts = kAttempts};
  Rng rng({.seed = static_cast<std::uint64_t>(
               std::chrono::steady_clock::now().time_since_epoch().count())});
  for (int attempt = 1;; ++attempt) {
    Result<HttpReply> reply = once(request);
    if (reply && reply->head.status < 500 && reply->head.status != 429) return reply;
    if (!reply && reply.error().code == Errc::interrupted) return reply;
    if (attempt == kAttempts) {
      if (reply) return refused(*reply);
      return Error{reply.error().code, fmt::format("{} gives no credentials: {}, {} attempts",
                                                   name_, reply.error().message, kAttempts)};
    }
    const double delay_s = retry_delay_s(policy, RetryCause::server, attempt, -1, rng);
    if (!sleep_unless_stopped(std::chrono::duration<double>(delay_s)))
      return Error{Errc::interrupted, fmt::format("{}: cancelled", name_)};
  }
}

Result<Json> CredentialService::parse(std::string_view body) const {
  auto json = parse_json(body, name_);
  if (!json || !json->is_object()) return nonsense();  // its error may quote a secret
  return json;
}

Error CredentialService::refused(const HttpReply& reply, std::string_view code) const {
  return {Errc::usage,
          fmt::format("{} gives no credentials: status {}{}{}", name_, reply.head.status,
                      code.empty() ? "" : " ", printable(code.substr(0, 80)))};
}

Error CredentialService::nonsense() const {
  return {Errc::usage, fmt::format("{} answered with something that holds no credentials", name_)};
}

/// One line without its end, for a header: a token with a line break in it is none.
Result<std::string> read_token(const std::string& path, std::string_view what) {
  auto text = read_text_file(path, kAnswerLimit);
  if (!text)
    return Error{Errc::usage, fmt::format("{}: {}", what, std::move(text).error().message)};
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' '))
    text->pop_back();
  if (text->empty() || text->find_first_of("\r\n") != std::string::npos)
    return Error{Errc::usage, fmt::format("{}: {} must hold one line", what, printable(path))};
  return std::move(*text);
}

std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<std::chrono::system_clock::time_point> parse_utc(std::string_view text) {
  std::tm tm{};
  const std::string copy(text);
  const char* end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &tm);
  if (end == nullptr) return std::nullopt;
  std::string_view rest = end;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
  }
  if (rest != "Z" && rest != "+00:00") return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&tm));
}

}  // namespace sluice::storage
