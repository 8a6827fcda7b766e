// sluice/loader/data/bundle_dataset.h - what `sluice data bundle` wrote as a data set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"
#include "sluice/storage/object_store.h"

#include <filesystem>
#include <memory>

namespace sluice::loader {

/// One bundle, one shard; samples are called as they were before they were bundled, so labels by
/// folder or CSV are the same. `index` is the bundles.index of the set.
Result<std::shared_ptr<const Dataset>> open_bundle_dataset(
    std::shared_ptr<storage::ObjectStore> store, const storage::Object& index,
    const std::filesystem::path& labels_csv);

}  // namespace sluice::loader
