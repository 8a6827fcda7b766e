// sluice/loader/data/tar_dataset.h - tar shards in WebDataset's layout as a data set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"
#include "sluice/storage/object_store.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace sluice::loader {

/// Members that follow each other and have the same name up to the first dot of the last part are
/// one sample: "a/7.jpg", "a/7.cls". The sample is its first .jpg .jpeg .png .webp or .npy member;
/// a group without one is passed over. Its label: the number in .cls; or "label" or "cls" of .json;
/// or .txt, if that is a number; else -1. With `labels_csv` it is looked up there by the name of
/// the member ("a/7.jpg") instead.
///
/// Every shard is read through once for its index, several at a time. A name that comes twice in a
/// shard, a .cls that is no number and a shard that is no sound tar are errors that name it. No
/// sample in any of them: not_found.
Result<std::shared_ptr<const Dataset>> open_tar(std::shared_ptr<storage::ObjectStore> store,
                                                std::vector<storage::Object> shards,
                                                const std::filesystem::path& labels_csv);

}  // namespace sluice::loader
