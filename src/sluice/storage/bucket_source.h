// sluice/storage/bucket_source.h - objects of a bucket as a source of staged files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/source.h"

#include <filesystem>
#include <memory>

namespace sluice::storage {

/// "s3://..." or "gs://...".
bool is_bucket(const std::filesystem::path& from);

/// Asks no server yet, so that a folder that is complete needs none. Usage errors: an archive,
/// since only its files are staged from a bucket; a checksum; a name or password in the address.
Result<std::unique_ptr<Source>> open_bucket_source(const StageOptions& options);

}  // namespace sluice::storage
