// sluice/visit/loader/bundles.h - bundles of the input (bundle_cache.h), measured beside its
// samples as they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/loader/rows.h"

#include <filesystem>

namespace sluice::visit {

/// Fields of the spec that make one of our rows read the bundles in `folder`.
Json bundled_spec(const LoaderRequest& request, const std::filesystem::path& folder);

/// The request that reads the bundles in `folder` instead.
LoaderRequest bundled_request(const LoaderRequest& request, const std::filesystem::path& folder);

/// Bundled over unbundled, first epoch and later, from the rows of the file.
results::BundlingGain bundling_gain(const results::ResultFile& file, const std::string& base_case);

}  // namespace sluice::visit
