// sluice/loader/data/folder_dataset.cpp - one object, one sample: images or arrays under a prefix.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/folder_dataset.h"

#include "sluice/loader/data/labels.h"

namespace sluice::loader {

Result<std::shared_ptr<const Dataset>> FolderDataset::make(
    std::shared_ptr<storage::ObjectStore> store, KeyTable samples, const std::string& prefix,
    const std::filesystem::path& labels_csv) {
  std::shared_ptr<FolderDataset> dataset(new FolderDataset(std::move(store), std::move(samples)));
  KeyTable& table = dataset->samples_;
  const Labelled labelled{
      .size = table.size(),
      .name = [&](std::uint64_t index) { return table.key(index); },
      .set = [&](std::uint64_t index, std::int32_t label) { table.set_label(index, label); }};
  if (labels_csv.empty())
    label_by_folder(labelled, prefix);
  else
    SLUICE_CHECK(label_by_csv(labelled, prefix, labels_csv));
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

Result<std::span<const std::byte>> FolderDataset::read(std::uint64_t index,
                                                       storage::ReadBuffer& buffer) const {
  const storage::Object object = samples_.object(index);
  return store_->read(object, 0, static_cast<std::size_t>(object.size), buffer);
}

}  // namespace sluice::loader
