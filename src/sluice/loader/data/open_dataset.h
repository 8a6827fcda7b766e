// sluice/loader/data/open_dataset.h - finds out what a store holds and opens it as a data set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"
#include "sluice/storage/object_store.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::loader {

enum class DatasetKind : std::uint8_t {
  automatic,  // the first of the following that is there
  bundles,    // what `sluice data bundle` wrote
  images,     // .jpg .jpeg .png .webp, in any case; other objects are passed over
  tar,        // *.tar in WebDataset's layout
  arrays,     // *.npy
  clips,      // .mp4 .mov .avi .mkv .webm; never automatic
};
const char* to_string(DatasetKind kind);

struct DatasetOptions {
  std::string prefix{};  // only objects whose keys begin with it
  DatasetKind kind = DatasetKind::automatic;
  bool clips = false;                  // where none of an automatic choice is there: clips
  std::filesystem::path labels_csv{};  // empty: labels by folder (tar: by .cls members)
  bool sizes = false;  // all known when it is open: nothing goes on beside what is timed
};

/// By its suffix, in any case.
bool is_image_key(std::string_view key);
bool is_array_key(std::string_view key);
bool is_clip_key(std::string_view key);

/// Lists the store once. No sample at all is one error that says what would be accepted.
Result<std::shared_ptr<const Dataset>> open_dataset(std::shared_ptr<storage::ObjectStore> store,
                                                    const DatasetOptions& options);

}  // namespace sluice::loader
