// sluice/loader/episodes/episode_dataset.cpp - finds, opens and reads data sets as TFDS lays them
// out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/episode_dataset.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace sluice::loader::episodes {
namespace {

constexpr std::uint64_t kLeastRecord = storage::kRecordHeaderBytes + storage::kRecordFooterBytes;
/// A shard that was cut short is for its reader, who can pass over what is lost; this many are no
/// longer a shard that was cut.
constexpr std::uint64_t kPlausibleRecords = 1'000'000;

constexpr std::string_view kInfoName = "dataset_info.json";
constexpr std::string_view kFeaturesName = "features.json";
constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{64} << 20;

using Version = std::array<std::uint64_t, 3>;

/// "1.0.0"; nothing: no version, such as the folders that TFDS is still writing.
std::optional<Version> parse_version(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 3) return std::nullopt;
  Version version{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string& part = parts[i];
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), version[i]);
    if (part.empty() || error != std::errc() || end != part.data() + part.size())
      return std::nullopt;
  }
  return version;
}

std::string parent(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? "" : path.substr(0, slash));
}

std::string_view leaf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string below(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

Result<std::string> read_text(storage::ObjectStore& store, const std::string& key) {
  SLUICE_TRY(const storage::Object object, store.stat(key));
  if (object.size > kMaxJsonBytes)
    return Error{Errc::invalid_input,
                 fmt::format("{}: {}: {} bytes, at most {} are accepted", store.name(),
                             printable(key), object.size, kMaxJsonBytes)};
  storage::ReadBuffer buffer;
  SLUICE_TRY(const auto bytes,
             store.read(object, 0, static_cast<std::size_t>(object.size), buffer));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Folders under `prefix` with a dataset_info.json, the newest version of each.
Result<std::vector<std::string>> folders_under(storage::ObjectStore& store,
                                               std::string_view prefix) {
  std::map<std::string, std::pair<Version, std::string>> newest;  // by the folder above
  std::vector<std::string> plain;
  SLUICE_CHECK(store.list(prefix, [&](std::span<const storage::Object> objects) -> Status {
    for (const storage::Object& object : objects) {
      if (leaf(object.key) != kInfoName) continue;
      const std::string folder = parent(object.key);
      const auto version = parse_version(leaf(folder));
      if (!version) {
        if (leaf(folder).substr(0, 11) != "incomplete.") plain.push_back(folder);
        continue;
      }
      auto& best = newest[parent(folder)];
      if (best.second.empty() || best.first < *version) best = {*version, folder};
    }
    return ok;
  }));
  for (const auto& [name, best] : newest)
    plain.push_back(best.second);
  std::sort(plain.begin(), plain.end());
  return plain;
}

}  // namespace

Result<std::vector<std::string>> find_datasets(storage::ObjectStore& store) {
  return folders_under(store, "");
}

Result<std::string> find_dataset(storage::ObjectStore& store, std::string_view name) {
  SLUICE_TRY(const auto folders, folders_under(store, below(name, "")));
  if (folders.size() == 1) return folders.front();
  if (folders.empty())
    return Error{Errc::not_found, fmt::format("{}: no data set '{}': no {} under it", store.name(),
                                              printable(name), kInfoName)};
  return Error{Errc::invalid_input,
               fmt::format("{}: '{}' holds several data sets: {}", store.name(), printable(name),
                           printable(join(folders)))};
}

Result<DatasetInfo> read_dataset_info(storage::ObjectStore& store, std::string_view folder) {
  const std::string key = below(folder, kInfoName);
  SLUICE_TRY(const std::string text, read_text(store, key));
  return parse_dataset_info(text, printable(below(store.name(), key)));
}

std::string EpisodeDataset::name() const {
  return printable(below(store->name(), folder));
}

Result<EpisodeDataset> EpisodeDataset::open(std::shared_ptr<storage::ObjectStore> store,
                                            std::string folder, std::string_view split) {
  SLUICE_TRY(const Split wanted, Split::parse(split));
  EpisodeDataset dataset{.store = std::move(store),
                         .folder = std::move(folder),
                         .info = {},
                         .features = {},
                         .shards = {}};
  SLUICE_TRY(dataset.info, read_dataset_info(*dataset.store, dataset.folder));
  SLUICE_TRY(const std::string features,
             read_text(*dataset.store, below(dataset.folder, kFeaturesName)));
  SLUICE_TRY(dataset.features, parse_features(features, below(dataset.name(), kFeaturesName)));
  const auto found = dataset.info.split(wanted.name);
  if (!found)
    return Error{found.error().code, fmt::format("{}: {}", dataset.name(), found.error().message)};
  const SplitInfo& of = **found;
  SLUICE_TRY(const EpisodeRange range, wanted.range(of.episodes()));

  std::map<std::string, storage::Object> files;
  SLUICE_CHECK(dataset.store->list(below(dataset.folder, ""),
                                   [&](std::span<const storage::Object> objects) -> Status {
                                     for (const storage::Object& object : objects)
                                       files.emplace(object.key, object);
                                     return ok;
                                   }));
  std::uint64_t start = 0;  // episodes before this shard
  for (std::size_t i = 0; i < of.shard_lengths.size(); ++i) {
    const std::uint64_t length = of.shard_lengths[i];
    const std::uint64_t first = std::max(range.first, start);
    const std::uint64_t last = std::min(range.last, start + length);
    if (first < last) {
      const std::string key = below(dataset.folder, dataset.info.shard_name(of, i));
      const auto file = files.find(key);
      if (file == files.end())
        return Error{Errc::not_found,
                     fmt::format("{}: shard {} is missing; dataset_info.json names {} shards of "
                                 "split {}",
                                 dataset.name(), printable(leaf(key)), of.shard_lengths.size(),
                                 printable(of.name))};
      if (length > std::max(file->second.size / kLeastRecord, kPlausibleRecords))
        return Error{
            Errc::invalid_input,
            fmt::format("{}: shard {} has {} bytes; dataset_info.json says {} episodes, of "
                        "which each takes at least {}",
                        dataset.name(), printable(leaf(key)), file->second.size, length,
                        kLeastRecord)};
      dataset.shards.push_back(
          {.file = file->second, .first = first - start, .count = last - first, .of = length});
      dataset.episodes += last - first;
    }
    start += length;
  }
  return dataset;
}

Error EpisodeReader::short_file(std::uint64_t found) const {
  const ShardSlice& slice = dataset_->shards[shard_];
  return {Errc::invalid_input,
          fmt::format("{}: {}: it has {} episodes, dataset_info.json says {}",
                      dataset_->store->name(), printable(slice.file.key), found, slice.of)};
}

Status EpisodeReader::enter() {
  const ShardSlice& slice = dataset_->shards[shard_];
  records_.open(slice.file);
  for (index_ = 0; index_ < slice.first; ++index_) {
    SLUICE_TRY(const auto place, records_.skip());
    if (!place) return short_file(index_);
  }
  entered_ = true;
  return ok;
}

void EpisodeReader::leave_shard() {
  ++shard_;
  entered_ = false;
}

Result<std::optional<storage::Record>> EpisodeReader::next() {
  while (shard_ < dataset_->shards.size()) {
    if (!entered_) SLUICE_CHECK(enter());
    const ShardSlice& slice = dataset_->shards[shard_];
    if (index_ == slice.first + slice.count) {
      // Only who reads to the end of a file sees what lies behind it.
      if (index_ == slice.of && records_.offset() != slice.file.size)
        return Error{Errc::invalid_input,
                     fmt::format("{}: {}: {} bytes after the {} episodes that dataset_info.json "
                                 "says it has",
                                 dataset_->store->name(), printable(slice.file.key),
                                 slice.file.size - records_.offset(), slice.of)};
      leave_shard();
      continue;
    }
    SLUICE_TRY(auto record, records_.next());
    if (!record) return short_file(index_);
    ++index_;
    return record;
  }
  return std::optional<storage::Record>();
}

}  // namespace sluice::loader::episodes
