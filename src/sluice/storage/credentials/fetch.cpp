// sluice/storage/credentials/fetch.cpp - three small protocols over the HTTP transport.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/credentials/fetch.h"

#include "sluice/core/text.h"
#include "sluice/storage/credentials/service.h"
#include "sluice/storage/remote/xml.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <array>

namespace sluice::storage {
namespace {

/// The content of the first element of that name; empty when there is none.
std::string element(std::string_view xml, std::string_view name) {
  XmlReader reader(xml);
  for (;;) {
    const auto event = reader.next();
    if (!event || *event == XmlReader::Event::end) return {};
    if (*event == XmlReader::Event::close && reader.name() == name) return reader.text();
  }
}

Result<Credentials> checked(const CredentialService& service, Credentials credentials) {
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return service.nonsense();
  return credentials;
}

/// The form that containers and instances share.
Result<Credentials> parse_keys(const CredentialService& service, std::string_view body) {
  SLUICE_TRY(const Json json, service.parse(body));
  return checked(service, {text_of(json, "AccessKeyId"), text_of(json, "SecretAccessKey"),
                           text_of(json, "Token"), parse_utc(text_of(json, "Expiration"))});
}

std::string sts_url(const CredentialOptions& options) {
  if (auto url = options.environment("AWS_ENDPOINT_URL_STS")) return *url;
  std::string region = options.region;
  for (const char* name : std::array{"AWS_REGION", "AWS_DEFAULT_REGION"})
    if (region.empty()) region = options.environment(name).value_or("");
  if (region.empty()) return "https://sts.amazonaws.com/";
  return fmt::format("https://sts.{}.amazonaws.com{}/", region,
                     region.starts_with("cn-") ? ".cn" : "");
}

}  // namespace

bool is_private_service(std::string_view url) {
  if (url.starts_with("https://")) return true;
  if (!url.starts_with("http://")) return false;
  url.remove_prefix(7);
  std::string_view host = url.substr(0, url.find_first_of("/?#"));
  if (host.find('@') != std::string_view::npos) return false;
  if (host.starts_with('[')) {
    host = host.substr(0, host.find(']') + 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  return host == "localhost" || host == "169.254.170.2" || host == "169.254.170.23" ||
         host == "[fd00:ec2::23]" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

Result<Credentials> fetch_web_identity(const CredentialOptions& options,
                                       const WebIdentity& identity) {
  SLUICE_TRY(const CredentialService service,
             CredentialService::open("AWS STS (web identity)", options.environment,
                                     options.service_limit_s));
  SLUICE_TRY(const std::string token, read_token(identity.token_file, "web identity token"));
  HttpRequest request;
  request.method = "POST";
  request.url = sts_url(options);
  request.headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: text/xml"};
  request.body = fmt::format(
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}"
      "&WebIdentityToken={}",
      uri_encode(identity.role_arn, false), uri_encode(identity.session_name, false),
      uri_encode(token, false));
  SLUICE_TRY(const HttpReply reply, service.ask(request));
  if (reply.head.status != 200) return service.refused(reply, element(reply.body, "Code"));
  return checked(
      service, {element(reply.body, "AccessKeyId"), element(reply.body, "SecretAccessKey"),
                element(reply.body, "SessionToken"), parse_utc(element(reply.body, "Expiration"))});
}

Result<Credentials> fetch_container(const CredentialOptions& options, const std::string& uri) {
  if (!is_private_service(uri))
    return Error{Errc::usage, fmt::format("container credentials: {} must be https, or http on "
                                          "this machine or 169.254.170.2",
                                          printable(host_of(uri)))};
  SLUICE_TRY(const CredentialService service,
             CredentialService::open("the container's credential service", options.environment,
                                     options.service_limit_s));
  HttpRequest request;
  request.url = uri;
  request.headers = {"Accept: application/json"};
  std::string token;
  if (const auto path = options.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    SLUICE_TRY(token, read_token(*path, "container authorization token"));
  } else if (const auto value = options.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")) {
    token = *value;
    if (token.find_first_of("\r\n") != std::string::npos)
      return Error{Errc::usage, "AWS_CONTAINER_AUTHORIZATION_TOKEN must be one line"};
  }
  if (!token.empty()) request.headers.push_back("Authorization: " + token);
  SLUICE_TRY(const HttpReply reply, service.ask(request));
  if (reply.head.status != 200) return service.refused(reply, "");
  return parse_keys(service, reply.body);
}

Result<std::optional<Credentials>> fetch_instance(const CredentialOptions& options) {
  SLUICE_TRY(const CredentialService service,
             CredentialService::open("the instance metadata service", options.environment,
                                     options.metadata_limit_s));
  const std::string base =
      options.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(options.metadata_endpoint);
  HttpRequest request;
  request.method = "PUT";
  request.url = base + "/latest/api/token";
  request.headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"};
  const auto token = service.once(request);
  if (!token && token.error().code == Errc::interrupted) return token.error();
  // No answer, or one of something else that listens there: this is no such instance.
  if (!token || token->head.status != 200 || token->body.empty() ||
      token->body.find_first_of("\r\n") != std::string::npos)
    return std::optional<Credentials>();
  request.method = "GET";
  request.url = base + "/latest/meta-data/iam/security-credentials/";
  request.headers = {"X-aws-ec2-metadata-token: " + token->body};
  SLUICE_TRY(const HttpReply roles, service.ask(request));
  const std::string role = roles.body.substr(0, roles.body.find_first_of("\r\n"));
  if (roles.head.status == 404 || role.empty()) return std::optional<Credentials>();
  if (roles.head.status != 200) return service.refused(roles, "");
  request.url += uri_encode(role, false);
  SLUICE_TRY(const HttpReply reply, service.ask(request));
  if (reply.head.status != 200) return service.refused(reply, "");
  SLUICE_TRY(Credentials credentials, parse_keys(service, reply.body));
  return std::optional<Credentials>(std::move(credentials));
}

}  // namespace sluice::storage
