// sluice/loader/data/open_dataset.cpp - finds out what a store holds and opens it as a data set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/open_dataset.h"

#include "sluice/core/text.h"
#include "sluice/loader/data/bundle_dataset.h"
#include "sluice/loader/data/folder_dataset.h"
#include "sluice/loader/data/tar_dataset.h"
#include "sluice/loader/tokens/token_index.h"
#include "sluice/storage/format/bundle_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::loader {
namespace {

using storage::Object;

/// What lies in the store, by kind.
struct Found {
  std::uint64_t objects = 0;
  bool tokens =
      false;  // a TokenDataset is no data set of this kind: it wants a length of sequences
  KeyTable images, arrays, clips;
  std::vector<Object> tars{}, bundles{};
};

/// In any case; `suffix` is in lower case.
bool ends_with(std::string_view key, std::string_view suffix) {
  if (key.size() < suffix.size()) return false;
  return std::equal(suffix.begin(), suffix.end(),
                    key.end() - static_cast<std::ptrdiff_t>(suffix.size()),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

bool is_bundle_index(std::string_view key) {
  return key.substr(key.rfind('/') + 1) == storage::kBundleIndexName;
}

}  // namespace

bool is_image_key(std::string_view key) {
  constexpr std::array<std::string_view, 4> kSuffixes{".jpg", ".jpeg", ".png", ".webp"};
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [key](std::string_view suffix) { return ends_with(key, suffix); });
}

bool is_clip_key(std::string_view key) {
  constexpr std::array<std::string_view, 5> kSuffixes{".mp4", ".mov", ".avi", ".mkv", ".webm"};
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [key](std::string_view suffix) { return ends_with(key, suffix); });
}

bool is_array_key(std::string_view key) {
  return ends_with(key, ".npy");
}

namespace {

/// Local listings leave hidden files out already; buckets have them, too.
bool is_hidden(std::string_view key) {
  return key.front() == '.' || key.find("/.") != key.npos;
}

/// Those that are gone are left out.
Status find_sizes(storage::ObjectStore& store, std::vector<Object>& objects) {
  std::vector<Object> there;
  for (Object& object : objects) {
    if (object.size == storage::kSizeUnknown) {
      const auto found = store.stat(object.key);
      if (!found && found.error().code == Errc::not_found) continue;
      if (!found) return found.error();
      object.size = found->size;
    }
    there.push_back(std::move(object));
  }
  objects = std::move(there);
  return ok;
}

Result<Found> look(storage::ObjectStore& store, const DatasetOptions& options) {
  const auto wanted = [&](DatasetKind kind) {
    return options.kind == kind || options.kind == DatasetKind::automatic;
  };
  Found found;
  const auto take = [&](std::span<const Object> objects) -> Status {
    for (const Object& object : objects) {
      ++found.objects;
      if (object.key.empty() || is_hidden(object.key)) continue;
      if (object.key == kTokenIndexName) found.tokens = true;
      if (wanted(DatasetKind::bundles) && is_bundle_index(object.key))
        found.bundles.push_back(object);
      else if (wanted(DatasetKind::images) && is_image_key(object.key))
        found.images.add(object);
      else if (wanted(DatasetKind::tar) && ends_with(object.key, ".tar"))
        found.tars.push_back(object);
      else if (wanted(DatasetKind::arrays) && is_array_key(object.key))
        found.arrays.add(object);
      else if ((options.clips || options.kind == DatasetKind::clips) && is_clip_key(object.key))
        found.clips.add(object);
    }
    return ok;
  };
  SLUICE_CHECK(options.sizes ? store.list(options.prefix, take)
                             : store.list_names(options.prefix, take));
  SLUICE_CHECK(find_sizes(store, found.tars));
  SLUICE_CHECK(find_sizes(store, found.bundles));
  return found;
}

Error nothing(const storage::ObjectStore& store, const DatasetOptions& options,
              std::uint64_t objects) {
  const char* accepted = "";
  switch (options.kind) {
    case DatasetKind::automatic:
      accepted =
          "images (.jpg .jpeg .png .webp), tar shards (.tar), arrays (.npy) or bundles (what "
          "'sluice data bundle' writes) are accepted";
      break;
    case DatasetKind::bundles:
      accepted = "what 'sluice data bundle' writes is accepted";
      break;
    case DatasetKind::images:
      accepted = "images (.jpg .jpeg .png .webp) are accepted";
      break;
    case DatasetKind::tar:
      accepted = "tar shards (.tar) are accepted";
      break;
    case DatasetKind::arrays:
      accepted = "arrays (.npy) are accepted";
      break;
    case DatasetKind::clips:
      accepted = "clips (.mp4 .mov .avi .mkv .webm) are accepted";
      break;
  }
  const char* more = options.clips ? ", and clips (.mp4 .mov .avi .mkv .webm)" : "";
  const std::string under =
      options.prefix.empty() ? "" : fmt::format(" under '{}'", printable(options.prefix));
  return {Errc::invalid_input,
          fmt::format("{}: no sample among {} objects{}; {}{}", printable(store.name()), objects,
                      under, accepted, more)};
}

}  // namespace

const char* to_string(DatasetKind kind) {
  switch (kind) {
    case DatasetKind::automatic:
      return "automatic";
    case DatasetKind::bundles:
      return "bundles";
    case DatasetKind::images:
      return "images";
    case DatasetKind::tar:
      return "tar";
    case DatasetKind::arrays:
      return "arrays";
    case DatasetKind::clips:
      return "clips";
  }
  return "?";
}

Result<std::shared_ptr<const Dataset>> open_dataset(std::shared_ptr<storage::ObjectStore> store,
                                                    const DatasetOptions& options) {
  SLUICE_TRY(Found found, look(*store, options));
  if (found.bundles.size() > 1)
    return Error{Errc::usage,
                 fmt::format("{}: {} and {} are two sets of bundles; a prefix picks one",
                             printable(store->name()), printable(found.bundles[0].key),
                             printable(found.bundles[1].key))};
  if (!found.bundles.empty())
    return open_bundle_dataset(std::move(store), found.bundles[0], options.labels_csv);
  if (found.images.size() > 0)
    return FolderDataset::make(std::move(store), std::move(found.images), options.prefix,
                               options.labels_csv);
  if (!found.tars.empty())
    return open_tar(std::move(store), std::move(found.tars), options.labels_csv);
  if (found.arrays.size() > 0)
    return FolderDataset::make(std::move(store), std::move(found.arrays), options.prefix,
                               options.labels_csv);
  if (found.clips.size() > 0)
    return FolderDataset::make(std::move(store), std::move(found.clips), options.prefix,
                               options.labels_csv);
  if (found.tokens)
    return Error{Errc::invalid_input,
                 fmt::format("{}: holds tokens, which models of text (--model gpt-tiny) take in "
                             "train, bench training and profile; images are accepted here",
                             printable(store->name()))};
  return nothing(*store, options, found.objects);
}

}  // namespace sluice::loader
