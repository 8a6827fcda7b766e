// sluice/loader/episodes/presets.cpp - the data sets of the presets.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/presets.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace sluice::loader::episodes {
namespace {

constexpr std::string_view kObserved = "observation/natural_language_instruction";
constexpr std::string_view kStep = "language_instruction";

// name, folder, weight, image, height, width, codec, action, size, state, size, language, offset,
// pairs, steps, episodes, shards
// clang-format off
constexpr DatasetSpec kOxe29[] = {
    {"language_table", "language_table", 0.03, "rgb", 360, 640, Codec::jpeg, "flat", 2, "effector_translation", 2, "observation/instruction", 10, 11934000, 40, 442226, 1024},
    {"bridge", "bridge", 0.03, "image", 480, 640, Codec::unstated, "world_vector", 3, "state", 2, kObserved, 5, 1031130, 50, 25460, 1024},
    {"rt1", "fractal20220817_data", 0.03, "image", 256, 320, Codec::jpeg, "world_vector", 3, "base_pose_tool_reached", 3, kObserved, 3, 2113650, 30, 87212, 1024},
    {"robonet", "robo_net", 0.03, "image", 240, 320, Codec::jpeg, "flat", 3, "state", 3, kStep, 10, 1494000, 30, 82775, 1024},
    {"droid", "droid", 0.03, "exterior_image_1_left", 180, 320, Codec::jpeg, "flat", 7, "cartesian_position", 6, kStep, 5, 35680434, 300, 95658, 2048},
    {"berkeley_autolab_ur5", "berkeley_autolab_ur5", 0.03, "image", 480, 640, Codec::unstated, "world_vector", 3, "robot_state", 15, kObserved, 5, 78907, 90, 896, 412},
    {"jaco_play", "jaco_play", 0.03, "image", 224, 224, Codec::unstated, "world_vector", 3, "end_effector_cartesian_pos", 7, kObserved, 5, 65359, 70, 976, 128},
    {"kuka", "kuka", 0.03, "image", 512, 640, Codec::jpeg, "world_vector", 3, "", 0, kObserved, 5, 5881305, 15, 580392, 1024},
    {"taco_play", "taco_play", 0.03, "rgb_static", 150, 200, Codec::unstated, "actions", 7, "robot_obs", 15, kObserved, 5, 197762, 60, 3242, 511},
    {"roboturk", "roboturk", 0.03, "front_rgb", 480, 640, Codec::unstated, "world_vector", 3, "", 0, kObserved, 5, 148708, 90, 1796, 494},
    {"bc_z", "bc_z", 0.03, "image", 171, 213, Codec::jpeg, "future/xyz_residual", 30, "present/xyz", 3, kObserved, 5, 1000000, 30, 39350, 1024},
    {"berkeley_cable_routing", "berkeley_cable_routing", 0.03, "image", 128, 128, Codec::unstated, "world_vector", 3, "robot_state", 2, kObserved, 5, 1000000, 30, 1482, 64},
    {"columbia_cairlab_pusht_real", "columbia_cairlab_pusht_real", 0.03, "image", 240, 320, Codec::unstated, "world_vector", 3, "robot_state", 2, kObserved, 5, 1000000, 30, 122, 32},
    {"berkeley_fanuc_manipulation", "berkeley_fanuc_manipulation", 0.03, "image", 224, 224, Codec::png, "flat", 6, "state", 2, kStep, 5, 1000000, 60, 415, 124},
    {"uiuc_d3field", "uiuc_d3field", 0.03, "image_1", 360, 640, Codec::png, "flat", 3, "state", 2, kStep, 5, 1000000, 60, 192, 98},
    {"ucsd_kitchen", "ucsd_kitchen_dataset_converted_externally_to_rlds", 0.03, "image", 480, 640, Codec::png, "flat", 8, "state", 2, kStep, 5, 1000000, 60, 150, 16},
    {"ucsd_pick_and_place", "ucsd_pick_and_place_dataset_converted_externally_to_rlds", 0.03, "image", 224, 224, Codec::png, "flat", 4, "state", 2, kStep, 5, 1000000, 60, 1355, 32},
    {"furniture_bench", "furniture_bench_dataset_converted_externally_to_rlds", 0.03, "image", 224, 224, Codec::jpeg, "flat", 8, "state", 2, kStep, 5, 1000000, 60, 5100, 1016},
    {"maniskill", "maniskill_dataset_converted_externally_to_rlds", 0.03, "image", 256, 256, Codec::png, "flat", 7, "state", 2, kStep, 5, 1000000, 60, 30213, 1024},
    {"robo_set", "robo_set", 0.03, "image_left", 240, 424, Codec::jpeg, "flat", 8, "state", 2, kStep, 5, 1000000, 60, 18250, 1024},
    {"stanford_hydra", "stanford_hydra_dataset_converted_externally_to_rlds", 0.03, "image", 240, 320, Codec::png, "flat", 7, "state", 2, kStep, 5, 1000000, 60, 570, 350},
    {"stanford_robocook", "stanford_robocook_converted_externally_to_rlds", 0.03, "image_1", 256, 256, Codec::jpeg, "flat", 7, "state", 2, kStep, 5, 1000000, 60, 2460, 923},
    {"spoc", "spoc", 0.03, "image", 224, 384, Codec::jpeg, "flat", 9, "", 0, kStep, 5, 1000000, 60, 212043, 1024},
    {"tidybot", "tidybot", 0.03, "image", 360, 640, Codec::jpeg, "", 0, "", 0, kStep, 5, 1000000, 60, 24, 1},
    {"toto", "toto", 0.03, "image", 480, 640, Codec::unstated, "world_vector", 3, "state", 2, kObserved, 5, 1000000, 60, 902, 415},
    {"viola", "viola", 0.03, "agentview_rgb", 224, 224, Codec::unstated, "world_vector", 3, "", 0, kObserved, 5, 1000000, 60, 135, 81},
    {"vima", "vima_converted_externally_to_rlds", 0.03, "image", 128, 256, Codec::unstated, "pose0_position", 3, "", 0, "multimodal_instruction", 5, 1000000, 60, 660103, 2048},
    {"utaustin_mutex", "utaustin_mutex", 0.03, "image", 128, 128, Codec::png, "flat", 7, "state", 2, kStep, 5, 1000000, 60, 1500, 256},
    {"fmb", "fmb", 0.03, "image_side_1", 256, 256, Codec::jpeg, "flat", 7, "state_gripper_pose", 2, kStep, 5, 1000000, 60, 8611, 2017},
};

constexpr DatasetSpec kSmall4[] = {
    {"arm", "small_arm", 0.4, "image", 64, 64, Codec::jpeg, "flat", 7, "state", 3, kStep, 2, 8000, 10, 1000, 4},
    {"gripper", "small_gripper", 0.3, "image", 48, 64, Codec::png, "world_vector", 3, "", 0, kObserved, 3, 7000, 10, 1000, 4},
    {"rover", "small_rover", 0.2, "rgb", 64, 96, Codec::jpeg, "", 0, "pose", 2, kStep, 1, 9000, 10, 1000, 4},
    {"table", "small_table", 0.1, "image", 32, 32, Codec::unstated, "flat", 2, "state", 1, kObserved, 5, 15000, 20, 1000, 4},
};
// clang-format on

constexpr std::array kPresets = {
    Preset{.name = "oxe29",
           .what = "29 data sets of Open X-Embodiment and beyond, equal weights",
           .datasets = kOxe29},
    Preset{.name = "small4",
           .what = "4 data sets of small frames and unequal weights, for trials and for long runs",
           .datasets = kSmall4},
};

std::string below_steps(std::string_view middle, std::string_view name) {
  return name.empty() ? std::string() : fmt::format("steps/{}{}", middle, name);
}

}  // namespace

const char* to_string(Codec codec) {
  constexpr std::array kNames = {"jpeg", "png", "unstated (png)"};
  return kNames[static_cast<std::size_t>(codec)];
}

std::string DatasetSpec::image_feature() const {
  return below_steps("observation/", image);
}

std::string DatasetSpec::action_feature() const {
  return action == "flat" ? "steps/action" : below_steps("action/", action);
}

std::string DatasetSpec::state_feature() const {
  return below_steps("observation/", state);
}

std::string DatasetSpec::language_feature() const {
  return below_steps("", language);
}

std::span<const Preset> presets() {
  return kPresets;
}

Result<const Preset*> find_preset(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return &preset;
    names.emplace_back(preset.name);
  }
  return Error{Errc::usage, fmt::format("--preset '{}' is not known; accepted: {}", printable(name),
                                        join(names))};
}

std::string presets_page() {
  std::string page =
      "# Presets of data sets\n"
      "Written by `tools/docs` from `src/sluice/loader/episodes/presets.cpp`; what they are for: "
      "[episodes.md](episodes.md).\n";
  for (const Preset& preset : kPresets) {
    page += fmt::format(
        "\n## {}\n{}. Training reads `{}`, validation `{}`.\n\n"
        "| name | TFDS name | weight | image | size | codec | action | state | language | offset | "
        "pairs | steps | episodes | shards |\n"
        "|---|---|---:|---|---|---|---|---|---|---:|---:|---:|---:|---:|\n",
        preset.name, preset.what, preset.train, preset.validation);
    const auto with_size = [](std::string_view key, int size) {
      return size == 0 ? std::string("none") : fmt::format("{}:{}", key, size);
    };
    for (const DatasetSpec& spec : preset.datasets)
      page += fmt::format(
          "| {} | {} | {} | {} | {}x{} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", spec.name,
          spec.folder, spec.weight, spec.image, spec.height, spec.width, to_string(spec.codec),
          with_size(spec.action, spec.action_size), with_size(spec.state, spec.state_size),
          spec.language, spec.offset, spec.approx_pairs, spec.episode_steps, spec.episodes,
          spec.shards);
  }
  return page;
}

}  // namespace sluice::loader::episodes
