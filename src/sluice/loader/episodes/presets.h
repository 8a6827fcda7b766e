// sluice/loader/episodes/presets.h - named lists of data sets: one record each, read by maker,
// loader, docs and tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::loader::episodes {

enum class Codec : std::uint8_t {
  jpeg,
  png,
  unstated,  // features.json names none; TFDS then writes PNG
};
const char* to_string(Codec codec);  // "jpeg", "png", "unstated (png)"

struct DatasetSpec {
  std::string_view name;    // in metadata, flags and tables: "rt1"
  std::string_view folder;  // TFDS's name: "fractal20220817_data"
  double weight = 0;        // share, relative to the sum; 0 leaves it out
  std::string_view image;   // below steps/observation
  int height = 0;
  int width = 0;
  Codec codec = Codec::jpeg;
  std::string_view action;  // below steps/action; "flat": steps/action itself; empty: none
  int action_size = 0;
  std::string_view state;  // below steps/observation; empty: none
  int state_size = 0;
  std::string_view language;       // below steps
  int offset = 0;                  // steps between the frames of a pair
  std::uint64_t approx_pairs = 0;  // of the real data set: for proportionate weights
  int episode_steps = 0;           // about, of an episode
  std::uint64_t episodes = 0;      // of the real data set's split train
  int shards = 0;                  // likewise

  [[nodiscard]] std::string image_feature() const;     // "steps/observation/image"
  [[nodiscard]] std::string action_feature() const;    // empty: none
  [[nodiscard]] std::string state_feature() const;     // empty: none
  [[nodiscard]] std::string language_feature() const;  // "steps/language_instruction"
};

struct Preset {
  std::string_view name;
  std::string_view what;  // one line
  std::span<const DatasetSpec> datasets;
  std::string_view train = "train[:90%]";
  std::string_view validation = "train[90%:]";
};

std::span<const Preset> presets();
/// An error names those there are.
Result<const Preset*> find_preset(std::string_view name);

/// docs/presets.md: a table of each.
std::string presets_page();

/// Characters of language_table's instructions, which are numbers.
inline constexpr int kInstructionSize = 512;

}  // namespace sluice::loader::episodes
