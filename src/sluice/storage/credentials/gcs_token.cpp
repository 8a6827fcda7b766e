// sluice/storage/credentials/gcs_token.cpp - where a bearer token comes from.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/credentials/gcs_token.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/storage/credentials/refresh.h"
#include "sluice/storage/credentials/service.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <filesystem>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;
using Found = Result<std::optional<Credentials>>;

/// {"access_token": "...", "expires_in": 3599}
Found parse_token(const CredentialService& service, std::string_view body) {
  SLUICE_TRY(const Json json, service.parse(body));
  Credentials credentials;
  credentials.session_token = text_of(json, "access_token");
  if (credentials.session_token.empty() ||
      credentials.session_token.find_first_of("\r\n") != std::string::npos)
    return service.nonsense();
  const auto seconds = json.find("expires_in");
  if (seconds != json.end() && seconds->is_number())
    credentials.expiry =
        std::chrono::system_clock::now() +
        std::chrono::seconds(std::min<std::int64_t>(seconds->get<std::int64_t>(), 86'400));
  return std::optional<Credentials>(std::move(credentials));
}

fs::path login_file(const Environment& environment) {
  if (const auto named = environment("GOOGLE_APPLICATION_CREDENTIALS")) return *named;
  const auto home = environment("HOME");
  if (!home) return {};
  fs::path path = fs::path(*home) / ".config/gcloud/application_default_credentials.json";
  std::error_code error;
  return fs::exists(path, error) ? path : fs::path();
}

Found from_login(const GcsTokenOptions& options) {
  const fs::path path = login_file(options.environment);
  if (path.empty()) return std::optional<Credentials>();
  SLUICE_TRY(const std::string text, read_text_file(path, std::uint64_t{1} << 20));
  const auto json = parse_json(text, "login");
  const std::string type = json && json->is_object() ? text_of(*json, "type") : "";
  if (type != "authorized_user")
    return Error{Errc::unsupported,
                 fmt::format("{} holds credentials of type \"{}\", only authorized_user is "
                             "supported: set GOOGLE_OAUTH_ACCESS_TOKEN to what "
                             "`gcloud auth print-access-token` prints",
                             printable(path.string()), printable(type))};
  SLUICE_TRY(const CredentialService service,
             CredentialService::open("Google's token service", options.environment,
                                     options.service_limit_s));
  HttpRequest request;
  request.method = "POST";
  request.url = options.oauth_endpoint;
  request.headers = {"Content-Type: application/x-www-form-urlencoded"};
  request.body = "grant_type=refresh_token";
  for (const char* key : {"client_id", "client_secret", "refresh_token"})
    request.body += fmt::format("&{}={}", key, uri_encode(text_of(*json, key), false));
  SLUICE_TRY(const HttpReply reply, service.ask(request));
  if (reply.head.status != 200) return service.refused(reply);
  return parse_token(service, reply.body);
}

Found from_metadata(const GcsTokenOptions& options) {
  SLUICE_TRY(const CredentialService service,
             CredentialService::open("Google's metadata service", options.environment,
                                     options.metadata_limit_s));
  std::string base = options.metadata_endpoint;
  if (const auto host = options.environment("GCE_METADATA_HOST")) base = "http://" + *host;
  HttpRequest request;
  request.url = base + "/computeMetadata/v1/instance/service-accounts/default/token";
  request.headers = {"Metadata-Flavor: Google"};
  const auto first = service.once(request);
  if (!first && first.error().code == Errc::interrupted) return first.error();
  if (!first) return std::optional<Credentials>();  // no such service: not an instance of theirs
  if (first->head.status == 200) return parse_token(service, first->body);
  if (first->head.status < 500) return std::optional<Credentials>();  // no account is attached
  SLUICE_TRY(const HttpReply reply, service.ask(request));
  if (reply.head.status != 200) return service.refused(reply);
  return parse_token(service, reply.body);
}

Result<Credentials> look(const GcsTokenOptions& options) {
  Credentials given;
  given.session_token = options.token;
  if (given.session_token.empty())
    given.session_token = options.environment("GOOGLE_OAUTH_ACCESS_TOKEN").value_or("");
  if (given.session_token.find_first_of("\r\n") != std::string::npos)
    return Error{Errc::usage, "the Google access token must be one line"};
  if (!given.session_token.empty()) return given;
  using Step = Found (*)(const GcsTokenOptions&);
  for (const Step step : {Step{from_login}, Step{from_metadata}}) {
    SLUICE_TRY(auto found, step(options));
    if (found) return std::move(*found);
  }
  return Error{Errc::usage,
               "no Google credentials: neither GOOGLE_OAUTH_ACCESS_TOKEN nor HMAC keys "
               "(GS_ACCESS_KEY_ID, GS_SECRET_ACCESS_KEY) nor a gcloud login nor instance metadata; "
               "--anonymous reads public buckets without"};
}

}  // namespace

std::shared_ptr<CredentialSource> open_gcs_token(GcsTokenOptions options) {
  return refreshing_credentials([options = std::move(options)] { return look(options); });
}

}  // namespace sluice::storage
