// sluice/loader/data/folder_dataset.cpp - one object, one sample: images or arrays under a prefix.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/folder_dataset.h"

#include "sluice/loader/data/labels.h"

#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace sluice::loader {
namespace {

constexpr int kNiceOfFinding = 19;  // behind whoever makes a batch

}  // namespace

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
    table.label_by_folder(prefix);
  else
    SLUICE_CHECK(label_by_csv(labelled, prefix, labels_csv));
  dataset->find_sizes();
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

Result<std::uint64_t> FolderDataset::size_of(std::uint64_t index) const {
  const std::uint64_t known = samples_.bytes(index);
  if (known != storage::kSizeUnknown) return known;
  SLUICE_TRY(const storage::Object object, store_->stat(samples_.key(index)));
  return samples_.set_bytes(index, object.size);
}

void FolderDataset::find_sizes() {
  const auto find = [this](const std::stop_token& stop) {
    for (std::uint64_t i = 0; i < samples_.size() && !stop.stop_requested(); ++i)
      (void)size_of(i);  // whoever reads it is told why
  };
  if (samples_.without_size() == 0) return;
  if (samples_.without_size() <= kFewSamples) return find({});
  try {
    finding_ = std::jthread([find](const std::stop_token& stop) {
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceOfFinding);
      find(stop);
    });
  } catch (const std::system_error&) {  // no more threads: sizes come as samples are read
  }
}

void FolderDataset::cancel() const {
  finding_.request_stop();
  store_->cancel();
}

std::uint64_t FolderDataset::bytes(std::uint64_t index) const {
  const auto size = size_of(index);
  return size ? *size : 0;
}

Result<std::span<const std::byte>> FolderDataset::read(std::uint64_t index,
                                                       storage::ReadBuffer& buffer) const {
  storage::Object object = samples_.object(index);
  SLUICE_TRY(object.size, size_of(index));
  return store_->read(object, 0, static_cast<std::size_t>(object.size), buffer);
}

}  // namespace sluice::loader
