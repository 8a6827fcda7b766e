// sluice/storage/credentials/fetch.h - credentials that a service gives out: STS, a container's
// agent, the metadata of an instance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/credentials/chain.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::storage {

struct WebIdentity {
  std::string token_file;
  std::string role_arn;
  std::string session_name;
};

/// Each asks up to three times when the service does not answer or fails. Errors name the service
/// and its status, never what it sent.
Result<Credentials> fetch_web_identity(const CredentialOptions& options,
                                       const WebIdentity& identity);
/// `uri` is AWS_CONTAINER_CREDENTIALS_FULL_URI, or the endpoint with the relative one.
Result<Credentials> fetch_container(const CredentialOptions& options, const std::string& uri);
/// Nothing when there is no metadata service or the instance has no role.
Result<std::optional<Credentials>> fetch_instance(const CredentialOptions& options);

/// May a token be sent there? https, or plain http to this machine or its link-local services.
bool is_private_service(std::string_view url);

}  // namespace sluice::storage
