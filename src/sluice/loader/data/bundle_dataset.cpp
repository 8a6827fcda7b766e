// sluice/loader/data/bundle_dataset.cpp - what `sluice data bundle` wrote as a data set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/bundle_dataset.h"

#include "sluice/core/text.h"
#include "sluice/loader/data/labels.h"
#include "sluice/loader/data/slice_dataset.h"
#include "sluice/storage/format/bundle_index.h"

#include <fmt/format.h>

namespace sluice::loader {

Result<std::shared_ptr<const Dataset>> open_bundle_dataset(
    std::shared_ptr<storage::ObjectStore> store, const storage::Object& index,
    const std::filesystem::path& labels_csv) {
  SLUICE_TRY(storage::BundleSet set, storage::open_bundles(*store, index));
  if (set.index.samples.empty())
    return Error{Errc::invalid_input,
                 fmt::format("{}/{}: no samples", printable(store->name()), printable(index.key))};
  std::vector<SliceTable> tables(set.bundles.size());
  std::size_t next = 0;
  for (std::size_t b = 0; b < tables.size(); ++b)
    for (std::uint64_t i = 0; i < set.index.bundles[b].samples; ++i) {
      const auto& sample = set.index.samples[next++];
      SLUICE_CHECK(tables[b].add(set.index.name(sample), sample.offset, sample.size, -1));
    }
  auto dataset =
      std::make_shared<SliceDataset>(std::move(store), std::move(set.bundles), std::move(tables));
  const Labelled labelled{
      .size = dataset->size(),
      .name = [&](std::uint64_t i) { return dataset->short_name(i); },
      .set = [&](std::uint64_t i, std::int32_t label) { dataset->set_label(i, label); }};
  if (labels_csv.empty())
    label_by_folder(labelled, "");
  else
    SLUICE_CHECK(label_by_csv(labelled, "", labels_csv));
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

}  // namespace sluice::loader
