// sluice/storage/credentials/chain.h - AWS credentials from where they are usually kept, fetched
// anew before they expire.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/credentials/credentials.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sluice::storage {

/// Value of an environment variable; nothing when it is not set or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

struct CredentialOptions {
  std::optional<Credentials> keys{};  // given outright: nothing else is looked at
  std::string profile{};  // given outright: before the environment. Empty: AWS_PROFILE, "default"
  std::string region{};   // of STS; empty: AWS_REGION, AWS_DEFAULT_REGION, the global endpoint
  Environment environment = process_environment();
  std::string container_endpoint = "http://169.254.170.2";
  std::string metadata_endpoint = "http://169.254.169.254";
  double metadata_limit_s = 1;  // per request: where there is no such service, nothing answers
  double service_limit_s = 5;   // per request to STS or a container service
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

/// Looks, at the first get(), in this order: `keys`, `profile`, AWS_ACCESS_KEY_ID and its
/// companions, the profile files (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE), web identity
/// (AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, by STS; AWS_ENDPOINT_URL_STS), container
/// (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI), instance metadata (IMDSv2, unless
/// AWS_EC2_METADATA_DISABLED). One that is set up but broken is an Error, not a reason to go on.
/// What expires is fetched anew from 5 minutes before on, by one thread, while the others go on
/// with what they have.
std::shared_ptr<CredentialSource> open_credentials(CredentialOptions options);

}  // namespace sluice::storage
