// sluice/image/video_module/schedule.cpp - which packets must be decoded to see certain frames.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/video_module/schedule.h"

#include <algorithm>

namespace sluice::video_module {
namespace {

/// Presentation times of all frames that are shown, rising; empty when they do not tell frames
/// apart.
std::vector<std::int64_t> shown_times(std::span<const PacketFacts> packets) {
  std::vector<std::int64_t> times;
  for (const PacketFacts& packet : packets) {
    if (!packet.has_pts) return {};
    if (!packet.discard) times.push_back(packet.pts);
  }
  std::sort(times.begin(), times.end());
  if (std::adjacent_find(times.begin(), times.end()) != times.end()) return {};
  return times;
}

/// From a key frame to the packet before the next one.
struct Group {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool wanted = false;          // holds a wanted frame
  bool leading_wanted = false;  // one that is shown before the key frame and may refer to the
                                // group before
};

std::vector<Group> split_groups(std::span<const PacketFacts> packets,
                                const std::vector<std::int64_t>& wanted) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (packets[i].key) groups.push_back({i, i, false, false});
    Group& group = groups.back();  // the first packet is a key frame: make_schedule saw to it
    group.end = i + 1;
    if (packets[i].discard || !std::binary_search(wanted.begin(), wanted.end(), packets[i].pts))
      continue;
    group.wanted = true;
    group.leading_wanted |= packets[i].pts < packets[group.begin].pts;
  }
  return groups;
}

}  // namespace

std::optional<Schedule> make_schedule(std::span<const PacketFacts> packets,
                                      std::span<const std::int64_t> indices) {
  const std::vector<std::int64_t> times = shown_times(packets);
  if (times.empty() || !packets.front().key) return std::nullopt;
  Schedule schedule;
  for (const std::int64_t index : indices)
    schedule.wanted_pts.push_back(
        times[std::min(static_cast<std::size_t>(index), times.size() - 1)]);
  schedule.actions.assign(packets.size(), Action::skip);
  schedule.restart.assign(packets.size(), false);

  const std::vector<Group> groups = split_groups(packets, schedule.wanted_pts);
  bool follows = true;  // the group before was decoded, or there is none
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const bool needed = group.wanted || (g + 1 < groups.size() && groups[g + 1].leading_wanted);
    if (!needed) {
      follows = false;
      continue;
    }
    schedule.restart[group.begin] = !follows;
    for (std::size_t i = group.begin; i < group.end; ++i) {
      const bool wanted =
          !packets[i].discard && std::binary_search(schedule.wanted_pts.begin(),
                                                    schedule.wanted_pts.end(), packets[i].pts);
      const bool leading = packets[i].pts < packets[group.begin].pts;
      // What leads may refer to frames that were skipped; only frames that lead refer to it.
      if (leading && !follows) continue;
      schedule.actions[i] = wanted ? Action::target : Action::reference;
    }
    follows = true;
  }
  return schedule;
}

}  // namespace sluice::video_module
