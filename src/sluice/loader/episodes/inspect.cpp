// sluice/loader/episodes/inspect.cpp - reads every record of every data set and says what is there.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/inspect.h"

#include "sluice/core/text.h"
#include "sluice/image/codec.h"
#include "sluice/loader/episodes/episode.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::loader::episodes {
namespace {

Status look(Episode& episode, image::Decoder& decoder, const EpisodeDataset& dataset,
            const storage::Record& record) {
  SLUICE_CHECK(episode.parse(record.payload, dataset.features));
  if (episode.steps() == 0) return ok;
  for (std::size_t i = 0; i < dataset.features.specs.size(); ++i) {
    const FeatureSpec& spec = dataset.features.specs[i];
    if (spec.type != FeatureType::image || !spec.in_steps || spec.ragged()) continue;
    SLUICE_TRY(const auto bytes, episode.bytes(i, 0));
    const auto info =
        decoder.read_info({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (!info)
      return Error{info.error().code,
                   fmt::format("feature {}: {}", spec.name, info.error().message)};
  }
  return ok;
}

void read_split(DatasetReport& report, const EpisodeDataset& dataset, Progress::Bar& bar) {
  EpisodeReader reader(dataset);
  Episode episode;
  image::Decoder decoder;
  report.shards += dataset.shards.size();
  for (const ShardSlice& slice : dataset.shards)
    report.bytes += slice.file.size;
  while (reader.shard() < dataset.shards.size()) {
    const auto record = reader.next();
    if (!record) {
      report.errors.push_back(record.error().message);
      reader.leave_shard();
      continue;
    }
    if (!*record) return;
    const Status sound = look(episode, decoder, dataset, **record);
    if (!sound) {
      report.errors.push_back(fmt::format("{}: record at byte {}: {}",
                                          printable(dataset.shards[reader.shard()].file.key),
                                          (**record).place.offset, sound.error().message));
      reader.leave_shard();
      continue;
    }
    const std::uint64_t steps = episode.steps();
    report.shortest = report.read == 0 ? steps : std::min(report.shortest, steps);
    report.longest = std::max(report.longest, steps);
    report.steps += steps;
    ++report.read;
    bar.add();
  }
}

}  // namespace

Result<std::vector<DatasetReport>> inspect_episodes(
    const std::shared_ptr<storage::ObjectStore>& store, Progress& progress) {
  SLUICE_TRY(const auto folders, find_datasets(*store));
  if (folders.empty())
    return Error{Errc::not_found, fmt::format("{}: no dataset_info.json in it: no data set as TFDS "
                                              "writes them",
                                              store->name())};
  std::vector<DatasetReport> reports;
  Progress::Bar bar = progress.bar("read episodes", 0, "episodes");
  for (const std::string& folder : folders) {
    DatasetReport report{
        .folder = folder, .name = folder, .version = {}, .splits = {}, .images = {}, .errors = {}};
    auto info = read_dataset_info(*store, folder);
    if (!info) {
      report.errors.push_back(info.error().message);
      reports.push_back(std::move(report));
      continue;
    }
    report.name = info->name;
    report.version = info->version;
    for (const SplitInfo& split : info->splits) {
      report.splits.push_back(split.name);
      report.episodes += split.episodes();
      const auto dataset = EpisodeDataset::open(store, folder, split.name);
      if (!dataset) {
        report.errors.push_back(dataset.error().message);
        continue;
      }
      report.features = dataset->features.specs;
      report.images.clear();
      for (const FeatureSpec& spec : dataset->features.specs)
        if (spec.type == FeatureType::image && spec.in_steps) report.images.push_back(spec);
      read_split(report, *dataset, bar);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace sluice::loader::episodes
