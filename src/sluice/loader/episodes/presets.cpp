// sluice/loader/episodes/presets.cpp - the presets of the program, one found, and their page.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/presets.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/loader/embedded.h"

#include <fmt/format.h>

#include <array>
#include <cassert>

namespace sluice::loader::episodes {
namespace {

std::vector<std::shared_ptr<const Preset>> built_in() {
  std::vector<std::shared_ptr<const Preset>> list;
  for (std::size_t i = 0; i < kEmbeddedCount; ++i) {
    const EmbeddedFile& file = kEmbedded[i];
    auto parsed = parse_preset({reinterpret_cast<const char*>(file.bytes), file.size}, file.name);
    assert(parsed);  // loader.preset_test reads them all
    parsed->root.clear();
    list.push_back(std::make_shared<const Preset>(std::move(*parsed)));
  }
  return list;
}

/// Features of steps, for a table.
std::string_view without_steps(std::string_view feature) {
  constexpr std::string_view kSteps = "steps/";
  return feature.starts_with(kSteps) ? feature.substr(kSteps.size()) : feature;
}

}  // namespace

const char* to_string(Codec codec) {
  constexpr std::array kNames = {"jpeg", "png", "unstated (png)"};
  return kNames[static_cast<std::size_t>(codec)];
}

bool DatasetSpec::has_place() const {
  return folder.find("://") != std::string::npos || (!folder.empty() && folder.front() == '/');
}

const std::vector<std::shared_ptr<const Preset>>& presets() {
  static const auto kPresets = built_in();
  return kPresets;
}

bool is_preset_file(std::string_view asked) {
  return asked.ends_with(".yaml") || asked.ends_with(".yml");
}

std::string preset_label(std::string_view asked) {
  return is_preset_file(asked) ? std::filesystem::path(asked).stem().string() : std::string(asked);
}

Result<std::shared_ptr<const Preset>> find_preset(std::string_view asked) {
  if (is_preset_file(asked)) {
    SLUICE_TRY(const std::string text, read_text_file(std::filesystem::path(asked)));
    SLUICE_TRY(auto preset, parse_preset(text, std::filesystem::path(asked)));
    return std::make_shared<const Preset>(std::move(preset));
  }
  std::vector<std::string> names;
  for (const auto& preset : presets()) {
    if (preset->name == asked) return preset;
    names.emplace_back(preset->name);
  }
  return Error{Errc::usage, fmt::format("--preset '{}' is not known; accepted: {}, or a file of "
                                        "your own, which ends in .yaml",
                                        printable(asked), join(names))};
}

std::string presets_page() {
  std::string page =
      "# Presets of data sets\n"
      "Written by `tools/docs` from [configs/presets](../configs/presets); what they are for: "
      "[episodes.md](episodes.md), one of your own: "
      "[mixture.md](mixture.md#a-preset-of-your-own).\n";
  for (const auto& of : presets()) {
    const Preset& preset = *of;
    page += fmt::format(
        "\n## {}\n{}. Training reads `{}`, validation `{}`.\n\n"
        "| name | TFDS name | weight | image | size | codec | action | state | language | offset | "
        "pairs | steps | episodes | shards |\n"
        "|---|---|---:|---|---|---|---|---|---|---:|---:|---:|---:|---:|\n",
        preset.name, preset.what, preset.train, preset.validation);
    const auto with_size = [](std::string_view key, int size) {
      return size == 0 ? std::string("none") : fmt::format("{}:{}", without_steps(key), size);
    };
    for (const DatasetSpec& spec : preset.datasets)
      page += fmt::format(
          "| {} | {} | {} | {} | {}x{} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", spec.name,
          spec.folder, spec.weight, without_steps(spec.image), spec.height, spec.width,
          to_string(spec.codec), with_size(spec.action, spec.action_size),
          with_size(spec.state, spec.state_size), without_steps(spec.language), spec.offset,
          spec.approx_pairs, spec.episode_steps, spec.episodes, spec.shards);
  }
  return page;
}

}  // namespace sluice::loader::episodes
