// sluice/visit/loader/bundles.h - the samples of the input packed into bundles, to be measured
// beside them as they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/loader/rows.h"

#include <filesystem>

namespace sluice::visit {

/// Packs the input into `out`; what it took and became.
Result<Json> pack_input(const LoaderRequest& request, const std::filesystem::path& out,
                        Progress& progress, const std::function<bool()>& stop);

/// Fields of the spec that make one of our rows read the bundles in `folder`.
Json bundled_spec(const LoaderRequest& request, const std::filesystem::path& folder);

/// Bundled over unbundled, first epoch and later, from the rows of the file.
results::BundlingGain bundling_gain(const results::ResultFile& file, const std::string& base_case);

}  // namespace sluice::visit
