// sluice/loader/episodes/presets.h - lists of data sets: the built-in ones and those of users, one
// record for each data set, read by maker, loader, docs and tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loader::episodes {

enum class Codec : std::uint8_t {
  jpeg,
  png,
  unstated,  // features.json names none; TFDS then writes PNG
};
const char* to_string(Codec codec);  // "jpeg", "png", "unstated (png)"

/// Features are called by their full names, as features.json has them: "steps/observation/image".
struct DatasetSpec {
  std::string name;    // in metadata, flags and tables: "rt1"
  std::string folder;  // below the root: "fractal20220817_data"; or a place of its own, has_place()
  double weight = 0;   // share, relative to the sum; 0 leaves it out
  std::string image;
  int height = 0;  // of the real data set, as are width, codec and sizes; 0: not said
  int width = 0;
  Codec codec = Codec::jpeg;
  std::string action;  // empty: none
  int action_size = 0;
  std::string state;  // empty: none
  int state_size = 0;
  std::string language;            // empty: none
  int offset = 0;                  // steps between the frames of a pair
  std::uint64_t approx_pairs = 0;  // of the real data set: for proportionate weights
  int episode_steps = 0;           // about, of an episode
  std::uint64_t episodes = 0;      // of the real data set's split train
  int shards = 0;                  // likewise
  std::string type{};              // of data set, in metadata: "oxe"
  std::string split{};             // for training; empty: the preset's
  std::string validation{};        // likewise
  int parallelism = 0;             // shards of it that are read in turn; 0: as the others
  bool skip = false;
  std::string where{};  // it was written: "my.yaml:7"; empty: nowhere

  /// `folder` is no name below the root but a path from '/' or a bucket.
  [[nodiscard]] bool has_place() const;
};

struct Preset {
  std::string name;  // of a file: its name without what follows the last dot
  std::string what;  // one line
  std::vector<DatasetSpec> datasets;
  std::string train = "train[:90%]";
  std::string validation = "train[90%:]";
  std::string root{};  // folder or bucket; empty: whoever uses it says
};

/// Those of the program: configs/presets, put into it by the build.
const std::vector<std::shared_ptr<const Preset>>& presets();

/// A built-in one by its name, or a file by its path, which ends in .yaml or .yml. An error names
/// those there are, or what is wrong with the file, by line.
Result<std::shared_ptr<const Preset>> find_preset(std::string_view asked);
/// What results call it: the name of find_preset(), which need not be there.
std::string preset_label(std::string_view asked);
/// It is a path.
bool is_preset_file(std::string_view asked);

/// A preset as text. `file` is what errors call it; a relative root is one below its folder, and
/// without a root that folder is it.
Result<Preset> parse_preset(std::string_view text, const std::filesystem::path& file);

/// docs/presets.md: a table of each.
std::string presets_page();

/// Characters of language_table's instructions, which are numbers.
inline constexpr int kInstructionSize = 512;

}  // namespace sluice::loader::episodes
