// sluice/scenario/allreduce/room.h - memory that ranks want of their machines and GPUs, beside what
// is free.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::scenario {

/// Memory of one kind that a rank takes.
struct MemoryWanted {
  std::string device;       // "cuda:0"; empty: its machine's
  std::int64_t copies = 1;  // of the numbers
  std::int64_t beside = 0;  // bytes
  std::int64_t free = 0;    // bytes, of all; 0: not known
};
struct RankRoom {
  std::string machine;
  std::vector<MemoryWanted> memory;
};
Json to_json(const RankRoom& room);
/// Written by the same program: no field is wrong.
RankRoom read_room(const Json& json);

/// Of a rank on this machine. `device`: "cpu", or "cuda:N" of its first rank. The errors are those
/// of a device that is not there, or not this rank's.
Result<RankRoom> room_of_rank(const std::string& device, int local_rank);

/// A memory that is too small for all who share it.
struct Crowd {
  std::size_t rank = 0;  // the first of them
  std::string device;    // empty: its machine's memory
  std::int64_t ranks = 0;
  std::int64_t wanted = 0, free = 0, fitting = 0;  // bytes; `fitting`: the most that would be added
};
/// Nothing: sums of so many bytes fit everywhere.
std::optional<Crowd> find_crowd(const std::vector<RankRoom>& ranks, std::int64_t bytes);

}  // namespace sluice::scenario
