// sluice/visit/loader/bundle_cache.h - bundles that a run packed stay for the next one, until
// somebody removes them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"
#include "sluice/visit/loader/request.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::visit {

/// The bundles of an input, ready to be read.
struct KeptBundles {
  std::filesystem::path folder;
  Json report;  // what they hold and took; "kept": an earlier run packed them; "not_kept": why no
                // later run will find them
};

/// What is packed.
struct BundleInput {
  storage::ObjectStore& store;
  std::string id;               // names the store among all: storage::store_id()
  std::filesystem::path files;  // the objects are these files; empty: a bucket's
  double bundle_size_gb = 1;
};

/// Its bundles in the user's cache, packed now unless they are there. They are named after the
/// store, the size of a bundle, and keys, sizes and versions (of files: times) of the objects, so
/// an input that changed, and another one, is packed anew. Where an object has no version nothing
/// says that it changed: such bundles are packed into `scratch`, which is the caller's to remove.
Result<KeptBundles> keep_bundles(const BundleInput& input, const std::filesystem::path& scratch,
                                 Progress& progress, const std::function<bool()>& stop);
/// Those of a request.
Result<KeptBundles> keep_bundles(const LoaderRequest& request, const std::filesystem::path& scratch,
                                 Progress& progress, const std::function<bool()>& stop);

/// One set of bundles in the cache.
struct BundleEntry {
  std::string name;
  std::string input;  // that they were packed from
  std::string packed_at;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // on the disk
};
/// By name; none where there is no cache.
Result<std::vector<BundleEntry>> bundle_entries();
/// `name` of an entry; not_found otherwise.
Status remove_bundles(const std::string& name);

}  // namespace sluice::visit
