// sluice/loader/data/tar_dataset.cpp - tar shards in WebDataset's layout as a data set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/tar_dataset.h"

#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/loader/data/labels.h"
#include "sluice/loader/data/slice_dataset.h"
#include "sluice/storage/format/tar_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <optional>

namespace sluice::loader {
namespace {

using storage::Object;
using storage::TarMember;

constexpr unsigned kShardsAtOnce = 8;

/// "a/7" and "jpg" of "a/7.JPG".
struct Parts {
  std::string_view stem;
  std::string suffix;
};

Parts parts_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t dot = name.find('.', slash == name.npos ? 0 : slash + 1);
  if (dot == name.npos) return {name, ""};
  std::string suffix(name.substr(dot + 1));
  for (char& c : suffix)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return {name.substr(0, dot), std::move(suffix)};
}

bool is_sample(std::string_view suffix) {
  constexpr std::array<std::string_view, 5> kSuffixes{"jpg", "jpeg", "png", "webp", "npy"};
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

std::optional<std::int32_t> class_number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.remove_suffix(1);
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int32_t> label_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  for (const char* key : {"label", "cls"}) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_integer()) continue;
    const auto value = found->get<std::int64_t>();
    if (value >= INT32_MIN && value <= INT32_MAX) return static_cast<std::int32_t>(value);
  }
  return std::nullopt;
}

/// Collects the members of one sample and adds it when the next one begins.
class Grouping {
 public:
  Grouping(SliceTable& out, storage::TarScan& scan, bool read_labels)
      : out_(out), scan_(scan), read_labels_(read_labels) {}

  /// Errors say what is wrong with the member.
  Status add(const TarMember& member) {
    Parts parts = parts_of(member.name);
    if (parts.stem != stem_) {
      SLUICE_CHECK(finish());
      stem_ = parts.stem;
    }
    if (std::find(suffixes_.begin(), suffixes_.end(), parts.suffix) != suffixes_.end())
      return Error{Errc::invalid_input, "the name comes twice"};
    if (is_sample(parts.suffix) && !sample_) sample_ = member;
    if (read_labels_) SLUICE_CHECK(take_label(member, parts.suffix));
    suffixes_.push_back(std::move(parts.suffix));
    return ok;
  }

  Status finish() {
    Status added = ok;
    if (sample_)
      added = out_.add(sample_->name, sample_->offset, sample_->size, label_.value_or(-1));
    sample_.reset();
    label_.reset();
    suffixes_.clear();
    return added;
  }

 private:
  Status take_label(const TarMember& member, const std::string& suffix) {
    if (suffix == "cls") {
      SLUICE_TRY(const std::string text, scan_.content(member));
      label_ = class_number(text);
      if (!label_)
        return Error{Errc::invalid_input,
                     fmt::format("'{}': a number is accepted", printable(text.substr(0, 40)))};
    } else if (!label_ && (suffix == "json" || suffix == "txt")) {
      if (member.size > kLargestLabel) return ok;  // a caption or a document
      SLUICE_TRY(const std::string text, scan_.content(member));
      if (suffix == "txt") {
        label_ = class_number(text);
      } else {
        SLUICE_TRY(const Json json, parse_json(text, "the member"));
        label_ = label_of(json);
      }
    }
    return ok;
  }
  static constexpr std::uint64_t kLargestLabel = std::uint64_t{64} << 10;

  SliceTable& out_;
  storage::TarScan& scan_;
  bool read_labels_;
  std::string stem_;
  std::vector<std::string> suffixes_;
  std::optional<TarMember> sample_;
  std::optional<std::int32_t> label_;
};

Result<SliceTable> index_shard(storage::ObjectStore& store, const Object& shard, bool read_labels) {
  storage::TarScan scan(store, shard);
  SliceTable table;
  Grouping grouping(table, scan, read_labels);
  for (;;) {
    SLUICE_TRY(const auto member, scan.next());
    if (!member) break;
    const Status added = grouping.add(*member);
    if (!added)
      return Error{added.error().code,
                   fmt::format("{}/{}:{}: {}", printable(store.name()), printable(shard.key),
                               printable(member->name), added.error().message)};
  }
  SLUICE_CHECK(grouping.finish());
  return table;
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_tar(std::shared_ptr<storage::ObjectStore> store,
                                                std::vector<Object> shards,
                                                const std::filesystem::path& labels_csv) {
  std::vector<SliceTable> tables(shards.size());
  std::vector<std::optional<Error>> errors(shards.size());
  std::atomic<bool> failed = false;
  ThreadPool pool(static_cast<unsigned>(std::min<std::size_t>(shards.size(), kShardsAtOnce)));
  pool.parallel_for(shards.size(), [&](std::size_t s, unsigned) {
    if (failed) return;
    auto table = index_shard(*store, shards[s], labels_csv.empty());
    if (table) {
      tables[s] = std::move(*table);
    } else {
      errors[s] = table.error();
      failed = true;
    }
  });
  for (const auto& error : errors)
    if (error) return *error;
  const bool none = std::all_of(tables.begin(), tables.end(),
                                [](const SliceTable& table) { return table.rows.empty(); });
  if (none)
    return Error{Errc::not_found, fmt::format("{}: no sample in {} tar shards; members .jpg .jpeg "
                                              ".png .webp or .npy are accepted",
                                              printable(store->name()), shards.size())};
  auto dataset =
      std::make_shared<SliceDataset>(std::move(store), std::move(shards), std::move(tables));
  if (!labels_csv.empty()) {
    const Labelled labelled{
        .size = dataset->size(),
        .name = [&](std::uint64_t index) { return dataset->short_name(index); },
        .set = [&](std::uint64_t index, std::int32_t label) { dataset->set_label(index, label); }};
    SLUICE_CHECK(label_by_csv(labelled, "", labels_csv));
  }
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

}  // namespace sluice::loader
