// sluice/scenario/allreduce/room.cpp - what each rank takes, and who shares it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/allreduce/room.h"

#include "sluice/core/free_memory.h"
#include "sluice/train/cuda/library.h"

#include <algorithm>
#include <array>
#include <map>
#include <unistd.h>
#include <utility>

namespace sluice::scenario {
namespace {

/// CUDA's context, our workspaces, NCCL's buffers.
constexpr std::int64_t kBesideOnDevice = std::int64_t{1} << 30;

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

Json to_json(const RankRoom& room) {
  Json memory = Json::array();
  for (const MemoryWanted& one : room.memory)
    memory.push_back(Json{{"device", one.device},
                          {"copies", one.copies},
                          {"beside", one.beside},
                          {"free", one.free}});
  return Json{{"machine", room.machine}, {"memory", std::move(memory)}};
}

RankRoom read_room(const Json& json) {
  RankRoom room;
  room.machine = json.at("machine").get<std::string>();
  for (const Json& one : json.at("memory"))
    room.memory.push_back(
        {one.at("device").get<std::string>(), one.at("copies").get<std::int64_t>(),
         one.at("beside").get<std::int64_t>(), one.at("free").get<std::int64_t>()});
  return room;
}

Result<RankRoom> room_of_rank(const std::string& device, int local_rank) {
  RankRoom room;
  room.machine = machine_name();
  const bool on_cpu = device == "cpu";
  // Beside its numbers MPI takes as much to work in.
  room.memory.push_back({"", on_cpu ? 2 : 1, 0, free_memory_bytes()});
  if (on_cpu) return room;
  SLUICE_TRY(const std::string own, train::cuda::device_of_rank(device, local_rank));
  SLUICE_TRY(const int index, train::cuda::device_index(own));
  SLUICE_TRY(const train::cuda::DeviceFacts facts, train::cuda::device_facts(index));
  room.memory.push_back({own, 1, kBesideOnDevice, static_cast<std::int64_t>(facts.free_bytes)});
  return room;
}

std::optional<Crowd> find_crowd(const std::vector<RankRoom>& ranks, std::int64_t bytes) {
  std::map<std::pair<std::string, std::string>, std::int64_t> sharing;
  for (const RankRoom& room : ranks)
    for (const MemoryWanted& one : room.memory)
      ++sharing[{room.machine, one.device}];
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const MemoryWanted& one : ranks[rank].memory) {
      const std::int64_t together = sharing[{ranks[rank].machine, one.device}];
      const std::int64_t each = one.copies * bytes + one.beside;
      if (one.free <= 0 || each <= one.free / together) continue;
      const std::int64_t left = one.free / together - one.beside;
      return Crowd{rank,     one.device,
                   together, together * each,
                   one.free, std::max<std::int64_t>(left / one.copies, 0)};
    }
  return std::nullopt;
}

}  // namespace sluice::scenario
