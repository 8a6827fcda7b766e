// sluice/storage/remote/gcs_store.h - objects of a Google Cloud Storage bucket.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/credentials/gcs_token.h"
#include "sluice/storage/remote/remote_store.h"

#include <memory>
#include <optional>
#include <string>

namespace sluice::storage {

struct GcsOptions {
  std::string bucket;
  std::string prefix{};    // keys are relative to it; empty: the whole bucket
  std::string endpoint{};  // empty: STORAGE_EMULATOR_HOST, else Google's own
  bool anonymous = false;
  /// HMAC keys: the XML API is used, with the requests of S3. Else GS_ACCESS_KEY_ID and
  /// GS_SECRET_ACCESS_KEY; without them the JSON API with a bearer token.
  std::optional<Credentials> hmac{};
  GcsTokenOptions token{};  // its environment is used for all of this
  RemoteOptions remote{};
};

/// With STORAGE_EMULATOR_HOST requests carry no token. There, and wherever plain http is read
/// anonymously, generations are not compared: emulators do not name them in downloads. A bucket or
/// endpoint that cannot be is Errc::usage. Asks the server nothing yet.
Result<std::unique_ptr<ObjectStore>> open_gcs(const GcsOptions& options);

}  // namespace sluice::storage
