// sluice/cli/data/episodes.h - episodes in `data make` and `data info`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

#include <cstdint>
#include <string>

namespace sluice::cli {

struct EpisodeFlags {
  std::string preset = "oxe29";
  std::uint64_t episodes = 32;
  double max_gb = 4;
};

void add_episode_flags(CLI::App& make, EpisodeFlags& flags);
Result<ExitCode> make_episodes(const EpisodeFlags& flags, const Context& context);

/// A data set as TFDS writes them lies in `path` or up to three folders below, or `path` is a
/// bucket.
bool holds_episodes(const std::string& path);
/// A preset of the data sets there, to start from.
Result<ExitCode> draft_episodes(const std::string& path);
Result<ExitCode> info_episodes(const std::string& path, const Context& context);

}  // namespace sluice::cli
