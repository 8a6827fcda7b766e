// sluice/storage/credentials/chain.cpp - the order in which credentials are looked for.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/credentials/chain.h"

#include "sluice/core/text.h"
#include "sluice/storage/credentials/fetch.h"
#include "sluice/storage/credentials/profile.h"
#include "sluice/storage/credentials/refresh.h"

#include <fmt/format.h>

#include <cstdlib>
#include <unistd.h>

namespace sluice::storage {
namespace {

using Found = Result<std::optional<Credentials>>;

Found from_environment(const CredentialOptions& options) {
  const auto key = options.environment("AWS_ACCESS_KEY_ID");
  const auto secret = options.environment("AWS_SECRET_ACCESS_KEY");
  if (!key && !secret) return std::optional<Credentials>();
  if (!key || !secret)
    return Error{Errc::usage, fmt::format("{} is set, {} is not: set both or neither",
                                          key ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                                          key ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID")};
  return std::optional<Credentials>(Credentials{
      *key, *secret, options.environment("AWS_SESSION_TOKEN").value_or(""), std::nullopt});
}

Found from_web_identity(const CredentialOptions& options, const WebIdentity& identity) {
  if (identity.token_file.empty()) return std::optional<Credentials>();
  if (identity.role_arn.empty())
    return Error{Errc::usage,
                 "AWS_WEB_IDENTITY_TOKEN_FILE is set, AWS_ROLE_ARN is not: web "
                 "identity needs both"};
  SLUICE_TRY(Credentials credentials, fetch_web_identity(options, identity));
  return std::optional<Credentials>(std::move(credentials));
}

/// Keys in the file, or the web identity that the profile names.
Found from_profile(const CredentialOptions& options, const std::string& name) {
  SLUICE_TRY(auto profile, read_profile(options.environment, name));
  if (!profile) return std::optional<Credentials>();
  SLUICE_TRY(auto keys, profile_keys(*profile, name.empty() ? "default" : name));
  if (keys) return keys;
  return from_web_identity(options, {(*profile)["web_identity_token_file"], (*profile)["role_arn"],
                                     "sluice-" + std::to_string(::getpid())});
}

Found from_web_variables(const CredentialOptions& options) {
  const auto value = [&](const char* name) { return options.environment(name).value_or(""); };
  const std::string session = value("AWS_ROLE_SESSION_NAME");
  return from_web_identity(options,
                           {value("AWS_WEB_IDENTITY_TOKEN_FILE"), value("AWS_ROLE_ARN"),
                            session.empty() ? "sluice-" + std::to_string(::getpid()) : session});
}

Found from_container(const CredentialOptions& options) {
  const auto relative = options.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = options.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative && !full) return std::optional<Credentials>();
  SLUICE_TRY(Credentials credentials,
             fetch_container(options, relative ? options.container_endpoint + *relative : *full));
  return std::optional<Credentials>(std::move(credentials));
}

Found from_instance(const CredentialOptions& options) {
  const std::string disabled = options.environment("AWS_EC2_METADATA_DISABLED").value_or("");
  if (disabled == "true" || disabled == "TRUE" || disabled == "True")
    return std::optional<Credentials>();
  return fetch_instance(options);
}

Found look(const CredentialOptions& options) {
  if (options.keys) return options.keys;
  if (!options.profile.empty()) return from_profile(options, options.profile);
  const auto named = [](const CredentialOptions& from) {
    return from_profile(from, from.environment("AWS_PROFILE").value_or(""));
  };
  using Step = Found (*)(const CredentialOptions&);
  for (const Step step : {Step{from_environment}, Step{named}, Step{from_web_variables},
                          Step{from_container}, Step{from_instance}}) {
    SLUICE_TRY(auto found, step(options));
    if (found) return found;
  }
  return std::optional<Credentials>();
}

Error nothing_found(const std::string& profile) {
  if (!profile.empty())
    return {Errc::usage,
            fmt::format("AWS profile \"{}\" has no aws_access_key_id", printable(profile))};
  return {Errc::usage,
          "no AWS credentials: not in the environment (AWS_ACCESS_KEY_ID), the profile files "
          "(~/.aws/credentials), web identity (AWS_WEB_IDENTITY_TOKEN_FILE), a container service "
          "or instance metadata; --anonymous reads public buckets without"};
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

std::shared_ptr<CredentialSource> open_credentials(CredentialOptions options) {
  auto now = options.now;
  return refreshing_credentials(
      [options = std::move(options)]() -> Result<Credentials> {
        SLUICE_TRY(auto found, look(options));
        if (!found) return nothing_found(options.profile);
        return std::move(*found);
      },
      std::move(now));
}

}  // namespace sluice::storage
