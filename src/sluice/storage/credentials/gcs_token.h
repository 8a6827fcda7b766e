// sluice/storage/credentials/gcs_token.h - bearer tokens for Google Cloud Storage.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/credentials/chain.h"
#include "sluice/storage/credentials/credentials.h"

#include <memory>
#include <string>

namespace sluice::storage {

struct GcsTokenOptions {
  std::string token{};  // given outright
  Environment environment = process_environment();
  std::string metadata_endpoint = "http://metadata.google.internal";  // or GCE_METADATA_HOST
  std::string oauth_endpoint = "https://oauth2.googleapis.com/token";
  double metadata_limit_s = 1;
  double service_limit_s = 5;
};

/// The token is the session_token of its Credentials. Looked for, at the first get(), in this
/// order: `token`, GOOGLE_OAUTH_ACCESS_TOKEN, what `gcloud auth application-default login` leaves
/// (GOOGLE_APPLICATION_CREDENTIALS, else under ~/.config/gcloud), the metadata of the instance.
std::shared_ptr<CredentialSource> open_gcs_token(GcsTokenOptions options);

}  // namespace sluice::storage
