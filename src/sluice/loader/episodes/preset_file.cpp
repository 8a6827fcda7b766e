// sluice/loader/episodes/preset_file.cpp - a preset as YAML; the keys are those of docs/mixture.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/parse.h"
#include "sluice/config/reader.h"
#include "sluice/core/text.h"
#include "sluice/loader/episodes/presets.h"
#include "sluice/loader/episodes/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sluice::loader::episodes {
namespace {

constexpr int kMostSteps = 1'000'000;
constexpr int kMostParallelism = 65536;
constexpr int kMostSide = 65536;

/// Names stand in flags (rt1=2, rt1,droid) and tables.
bool is_plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

/// A key whose value must be a split, where it is written.
void read_split_key(config::Reader& reader, std::string_view key, std::string& split) {
  reader.read(key, split);
  if (!reader.has(key)) return;
  if (const auto parsed = Split::parse(split); !parsed) reader.fail(key, parsed.error().message);
}

void read_real(config::Reader reader, DatasetSpec& spec) {
  reader.read("height", spec.height, config::closed_interval(1, kMostSide));
  reader.read("width", spec.width, config::closed_interval(1, kMostSide));
  reader.read("codec", spec.codec,
              config::names<Codec>(
                  {{"jpeg", Codec::jpeg}, {"png", Codec::png}, {"unstated", Codec::unstated}}));
  reader.read("action_size", spec.action_size, config::closed_interval(0, kMostSteps));
  reader.read("state_size", spec.state_size, config::closed_interval(0, kMostSteps));
  reader.read("pairs", spec.approx_pairs);
  reader.read("steps", spec.episode_steps, config::closed_interval(1, kMostSteps));
  reader.read("episodes", spec.episodes);
  reader.read("shards", spec.shards, config::closed_interval(1, kMostSteps));
}

DatasetSpec read_dataset(config::Reader reader, const config::Entry& entry) {
  DatasetSpec spec;
  spec.name = entry.key;
  spec.weight = 1;
  spec.offset = 1;
  spec.where = entry.value.where();
  reader.require("folder", spec.folder);
  reader.read("type", spec.type);
  read_split_key(reader, "split", spec.split);
  read_split_key(reader, "validation", spec.validation);
  reader.require("image", spec.image);
  reader.read("action", spec.action);
  reader.read("state", spec.state);
  reader.read("language", spec.language);
  reader.read("offset", spec.offset, config::closed_interval(1, kMostSteps));
  reader.read("weight", spec.weight,
              config::closed_interval(0.0, std::numeric_limits<double>::max()));
  reader.read("parallelism", spec.parallelism, config::closed_interval(1, kMostParallelism));
  reader.read("skip", spec.skip);
  read_real(reader.child("real"), spec);
  if (!is_plain_name(spec.name))
    reader.fail("folder", fmt::format("data set '{}': a name of letters, digits, '_', '-' and '.' "
                                      "is accepted",
                                      printable(spec.name)));
  return spec;
}

/// Relative to the file; a bucket and an absolute path are what they are.
std::string root_of(const std::string& written, const std::filesystem::path& file) {
  if (written.find("://") != std::string::npos) return written;
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  return (written.empty() ? folder : folder / written).lexically_normal().string();
}

}  // namespace

Result<Preset> parse_preset(std::string_view text, const std::filesystem::path& file) {
  SLUICE_TRY(const config::Node document, config::parse(text, file.string()));
  config::Reader reader(document);
  Preset preset;
  preset.name = file.stem().string();
  std::string type = "rlds";
  reader.read("what", preset.what);
  reader.read("root", preset.root);
  reader.read("type", type);
  read_split_key(reader, "split", preset.train);
  read_split_key(reader, "validation", preset.validation);
  config::Reader section = reader.child("datasets");
  const config::Node* const datasets = document.find("datasets");
  if (datasets != nullptr && datasets->is_map())
    for (const config::Entry& entry : datasets->entries()) {
      preset.datasets.push_back(read_dataset(section.child(entry.key), entry));
      if (preset.datasets.back().type.empty()) preset.datasets.back().type = type;
    }
  if (preset.datasets.empty()) reader.fail("datasets", "no data set is named");
  SLUICE_CHECK(reader.finish());
  preset.root = root_of(preset.root, file);
  return preset;
}

}  // namespace sluice::loader::episodes
