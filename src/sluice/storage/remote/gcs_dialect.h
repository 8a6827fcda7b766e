// sluice/storage/remote/gcs_dialect.h - requests and answers of the JSON API of Google Cloud
// Storage.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/credentials/credentials.h"
#include "sluice/storage/remote/remote_store.h"

#include <memory>
#include <string>
#include <string_view>

namespace sluice::storage {

struct GcsDialectOptions {
  std::string endpoint;  // without a '/' at its end
  std::string bucket;
  std::string root{};                         // before every key; ends in '/' or is empty
  std::shared_ptr<CredentialSource> token{};  // null: anonymous
  bool versions = true;  // false: an emulator whose downloads name no generation
  std::size_t page_size = 1000;
};

/// The version of an object is its generation.
std::unique_ptr<Dialect> make_gcs_dialect(GcsDialectOptions options);

}  // namespace sluice::storage
