// sluice/loader/episodes/preset_draft.cpp - the first image, action, state and language of each
// data set, and what else could have been taken.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/preset_draft.h"

#include "sluice/config/emit.h"
#include "sluice/core/text.h"
#include "sluice/loader/episodes/episode_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace sluice::loader::episodes {
namespace {

using Features = std::vector<const FeatureSpec*>;

bool contains(const FeatureSpec& spec, std::string_view word) {
  return spec.name.find(word) != std::string::npos;
}

/// One of each step, all alike in size.
bool is_usable(const FeatureSpec& spec) {
  return spec.in_steps && !spec.ragged();
}

bool is_numbers(const FeatureSpec& spec) {
  const auto values = spec.values();
  return is_usable(spec) && spec.list() == storage::ListKind::floats && values && *values > 0;
}

bool is_words(const FeatureSpec& spec) {
  const bool named = contains(spec, "language") || contains(spec, "instruction");
  return is_usable(spec) && named && !contains(spec, "embedding") &&
         (spec.type == FeatureType::text || spec.list() == storage::ListKind::ints);
}

template <class Fits>
Features those_that(const FeatureTable& table, const Fits& fits) {
  Features found;
  for (const FeatureSpec& spec : table.specs)
    if (fits(spec)) found.push_back(&spec);
  return found;
}

std::string yaml_text(std::string_view text) {
  return std::string(trimmed(config::to_yaml_line(config::Node::of(text))));
}

/// The first, with what it is, and the names of the others.
void add_feature(std::string& out, const char* key, const Features& found) {
  if (found.empty()) {
    out += fmt::format("    # {}: none found\n", key);
    return;
  }
  out += fmt::format("    {}: {}  # {}\n", key, yaml_text(found.front()->name),
                     printable(describe(*found.front())));
  for (std::size_t i = 1; i < found.size(); ++i)
    out += fmt::format("    # or {}: {}  # {}\n", key, yaml_text(found[i]->name),
                       printable(describe(*found[i])));
}

/// Letters, digits, '_', '-' and '.', as flags take them; no two alike.
std::string own_name(std::string_view name, std::set<std::string>& taken) {
  std::string plain;
  for (const char c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    plain += fits ? c : '_';
  }
  if (plain.empty()) plain = "data_set";
  std::string unique = plain;
  for (int i = 2; !taken.insert(unique).second; ++i)
    unique = fmt::format("{}_{}", plain, i);
  return unique;
}

/// What to train on and what to validate with: splits of its own, or parts of the first.
void add_splits(std::string& out, const DatasetInfo& info) {
  const auto has = [&](std::string_view name) {
    return std::any_of(info.splits.begin(), info.splits.end(),
                       [&](const SplitInfo& split) { return split.name == name; });
  };
  const std::string train = has("train") ? "train" : info.splits.front().name;
  for (const char* name : {"validation", "val", "test"})
    if (train == "train" && has(name)) {
      out += fmt::format("    split: train\n    validation: {}\n", name);
      return;
    }
  if (train == "train") return;  // as the preset says for all
  out += fmt::format("    split: {}\n    validation: {}\n", yaml_text(train + "[:90%]"),
                     yaml_text(train + "[90%:]"));
}

void add_dataset(std::string& out, const EpisodeDataset& dataset, std::set<std::string>& taken,
                 bool& any) {
  const FeatureTable& table = dataset.features;
  const Features images = those_that(table, [](const FeatureSpec& spec) {
    return is_usable(spec) && spec.type == FeatureType::image && spec.dtype == "uint8";
  });
  if (images.empty()) {
    out += fmt::format("  # {}: no image of u8 per step; left out\n", printable(dataset.info.name));
    return;
  }
  any = true;
  out += fmt::format("  {}:  # {} episodes\n    folder: {}\n    weight: 1\n    offset: 1\n",
                     own_name(dataset.info.name, taken), dataset.episodes,
                     yaml_text(dataset.folder.empty() ? "." : dataset.folder));
  add_splits(out, dataset.info);
  add_feature(out, "image", images);
  add_feature(out, "action", those_that(table, [](const FeatureSpec& spec) {
                return is_numbers(spec) &&
                       (spec.name == "steps/action" || spec.name.starts_with("steps/action/"));
              }));
  Features states = those_that(table, [](const FeatureSpec& spec) {
    return is_numbers(spec) && spec.name.starts_with("steps/observation/") &&
           !contains(spec, "embedding");
  });
  std::stable_partition(states.begin(), states.end(),
                        [](const FeatureSpec* spec) { return contains(*spec, "state"); });
  add_feature(out, "state", states);
  add_feature(out, "language", those_that(table, is_words));
}

}  // namespace

std::string describe(const FeatureSpec& spec) {
  std::string shape;
  for (const std::int64_t size : spec.shape)
    shape += fmt::format("{}{}", shape.empty() ? " " : "x", size < 0 ? "?" : std::to_string(size));
  return fmt::format(
      "{}{}{}{}{}{}", to_string(spec.type), spec.dtype.empty() ? "" : " " + spec.dtype, shape,
      spec.encoding == Encoding::none ? "" : fmt::format(" {}", to_string(spec.encoding)),
      spec.ragged() ? ", as many as a step has" : "",
      spec.type == FeatureType::other ? fmt::format(" ({})", spec.class_name) : "");
}

Result<std::string> draft_preset(storage::ObjectStore& store, std::string_view root) {
  SLUICE_TRY(const auto folders, find_datasets(store));
  if (folders.empty())
    return Error{Errc::not_found, fmt::format("{}: no dataset_info.json in it: no data set as TFDS "
                                              "writes them",
                                              store.name())};
  // A store that lives as long as this call is enough: nothing of it is kept.
  const std::shared_ptr<storage::ObjectStore> borrowed(&store, [](storage::ObjectStore*) {});
  std::string out = fmt::format(
      "# A preset to start from: weights, offsets and features are yours to choose "
      "(docs/mixture.md)."
      "\nroot: {}\nsplit: train[:90%]\nvalidation: train[90%:]\ndatasets:\n",
      yaml_text(root));
  std::set<std::string> taken;
  bool any = false;
  for (const std::string& folder : folders) {
    SLUICE_TRY(const DatasetInfo info, read_dataset_info(store, folder));
    if (info.splits.empty()) {
      out += fmt::format("  # {}: no split; left out\n", printable(info.name));
      continue;
    }
    const auto train = info.split("train");
    SLUICE_TRY(
        const EpisodeDataset dataset,
        EpisodeDataset::open(borrowed, folder, train ? (*train)->name : info.splits.front().name));
    add_dataset(out, dataset, taken, any);
  }
  if (any) return out;
  return Error{Errc::invalid_input,
               fmt::format("{}: no data set with an image of u8 per step", store.name())};
}

}  // namespace sluice::loader::episodes
