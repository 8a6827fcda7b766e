// sluice/loader/episodes/dataset_info.cpp - reads dataset_info.json, names shards.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/dataset_info.h"

#include "sluice/core/json.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

namespace sluice::loader::episodes {
namespace {

constexpr const char* kDefaultTemplate = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}";
constexpr std::size_t kMaxShards = 1'000'000;
constexpr std::uint64_t kMaxEpisodes = std::uint64_t{1} << 40;

std::optional<std::uint64_t> count_in(const Json& json) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string text_of(const Json& json, const char* key, const char* absent) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : absent;
}

Result<SplitInfo> parse_split(const Json& json, std::string_view where) {
  const auto bad = [&](std::string_view what) {
    return Error{Errc::invalid_input, fmt::format("{}: {}", where, what)};
  };
  if (!json.is_object()) return bad("a split is no dictionary");
  SplitInfo split{.name = text_of(json, "name", ""),
                  .file_template = text_of(json, "filepathTemplate", kDefaultTemplate)};
  if (split.name.empty()) return bad("a split without a name");
  if (split.file_template.find("..") != std::string::npos || split.file_template.front() == '/')
    return bad(fmt::format("split {}: '{}' names files outside of the folder",
                           printable(split.name), printable(split.file_template)));
  const auto lengths = json.find("shardLengths");
  if (lengths == json.end()) return split;  // an empty split has none
  if (!lengths->is_array() || lengths->size() > kMaxShards)
    return bad(fmt::format("split {}: shardLengths is no list of at most {} numbers",
                           printable(split.name), kMaxShards));
  for (const Json& length : *lengths) {
    const auto value = count_in(length);
    if (!value || *value > kMaxEpisodes)
      return bad(fmt::format("split {}: a shard of {} episodes", printable(split.name),
                             printable(dump_json(length, -1))));
    split.shard_lengths.push_back(*value);
  }
  if (const auto bytes = json.find("numBytes"); bytes != json.end())
    split.bytes = count_in(*bytes).value_or(0);
  return split;
}

void replace(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::uint64_t SplitInfo::episodes() const {
  return std::accumulate(shard_lengths.begin(), shard_lengths.end(), std::uint64_t{0});
}

Result<const SplitInfo*> DatasetInfo::split(std::string_view wanted) const {
  std::vector<std::string> names;
  for (const SplitInfo& split : splits) {
    if (split.name == wanted) return &split;
    names.push_back(printable(split.name));
  }
  return Error{Errc::invalid_input,
               fmt::format("{} has no split '{}'; it has {}", printable(name), printable(wanted),
                           names.empty() ? "none" : join(names))};
}

std::string DatasetInfo::shard_name(const SplitInfo& split, std::size_t shard) const {
  const std::size_t count = split.shard_lengths.size();
  const int digits = std::max(5, static_cast<int>(std::to_string(count).size()));
  const std::string index = fmt::format("{:0{}}", shard, digits);
  const std::string all = fmt::format("{:0{}}", count, digits);
  std::string file = split.file_template;
  replace(file, "{SHARD_X_OF_Y}", fmt::format("{}-of-{}", index, all));
  replace(file, "{SHARD_INDEX}", index);
  replace(file, "{NUM_SHARDS}", all);
  replace(file, "{FILEFORMAT}", "tfrecord");
  replace(file, "{SPLIT}", split.name);
  replace(file, "{DATASET}", name);
  return file;
}

Result<DatasetInfo> parse_dataset_info(std::string_view text, std::string_view where) {
  SLUICE_TRY(const Json json, parse_json(text, where));
  if (!json.is_object()) return Error{Errc::invalid_input, fmt::format("{}: no dictionary", where)};
  const std::string format = text_of(json, "fileFormat", "tfrecord");
  if (format != "tfrecord")
    return Error{Errc::unsupported,
                 fmt::format("{}: its files are {}; tfrecord is read", where, printable(format))};
  DatasetInfo info{
      .name = text_of(json, "name", ""), .version = text_of(json, "version", ""), .splits = {}};
  if (info.name.empty() || info.name.find('/') != std::string::npos)
    return Error{Errc::invalid_input,
                 fmt::format("{}: name '{}' of the data set", where, printable(info.name))};
  const auto splits = json.find("splits");
  if (splits == json.end() || !splits->is_array())
    return Error{Errc::invalid_input, fmt::format("{}: no list 'splits'", where)};
  for (const Json& split : *splits) {
    SLUICE_TRY(auto parsed, parse_split(split, where));
    info.splits.push_back(std::move(parsed));
  }
  return info;
}

}  // namespace sluice::loader::episodes
