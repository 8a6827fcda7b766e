// sluice/loader/episodes/episode_maker.h - writes the data sets of a preset with generated
// episodes, as TFDS would.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"
#include "sluice/loader/episodes/presets.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::loader::episodes {

struct EpisodeMakerOptions {
  std::filesystem::path folder;  // must not exist, or be empty, or hold what would be made
  Preset preset{};
  std::uint64_t episodes = 32;  // per data set; the real number where that is smaller
  std::uint64_t seed = 0;
  double max_gb = 4;                    // of 1e9 bytes; more is refused before anything is written
  unsigned threads = 0;                 // 0: one per usable core
  std::function<bool()> interrupted{};  // asked between episodes
};

struct MadeDataset {
  std::string name;
  std::uint64_t episodes = 0;
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;  // of its shards
};

struct MadeEpisodes {
  std::vector<MadeDataset> datasets;
  std::uint64_t episodes = 0;
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;
  std::string hash;      // over all shards, in the order of the preset: equal data, equal hash
  bool written = false;  // false: it was there already
};

inline constexpr std::uint64_t kMaxMadeEpisodes = 100'000;
inline constexpr std::string_view kMadeVersion = "0.1.0";
inline constexpr std::string_view kMadeManifest = "sluice_episodes.json";

/// <folder>/<data set>/0.1.0/ with dataset_info.json, features.json and shards of about 8 episodes,
/// and the manifest beside them. All is written beside `folder` and renamed at the end: it is whole
/// or not there. The same options give the same bytes, whatever the number of threads.
/// Errc::usage: more than max_gb (estimated from frames of each data set; and, should the estimate
/// have been too low, when the limit is reached), a folder with something else in it.
Result<MadeEpisodes> make_episodes(const EpisodeMakerOptions& options,
                                   Progress& progress = Progress::silent());

/// Bytes that make_episodes would about write.
Result<std::uint64_t> estimate_bytes(const EpisodeMakerOptions& options);

}  // namespace sluice::loader::episodes
