// sluice/scenario/allreduce/world.cpp - what rank 0 says, and what the others make of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/allreduce/world.h"

#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/measure/worker/reply.h"
#include "sluice/scenario/allreduce/room.h"
#include "sluice/scenario/worker_ranks.h"
#include "sluice/train/cuda/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::scenario {
namespace {

constexpr const char* kAllreduceOpen = "open";
constexpr const char* kAllreduceEnd = "end";
constexpr const char* kCheckOrder = "check";
constexpr const char* kTimeOrder = "time";
constexpr std::int64_t kMostRanks = 1024;
constexpr std::int64_t kMostSumBytes = std::int64_t{1} << 40;

/// Who this rank is, and what it has; an "error" if it cannot take part.
Json introduction(const AllreduceSpec& spec, int local_rank) {
  Json said{{"program", version::text()}};
  const auto room = room_of_rank(spec.device, local_rank);
  if (room)
    said["room"] = to_json(*room);
  else
    said["error"] = room.error().message;
  return said;
}

std::int64_t largest(const AllreduceSpec& spec) {
  return *std::max_element(spec.bytes.begin(), spec.bytes.end());
}

Result<std::unique_ptr<RankSums>> open_sums(train::World& world, const AllreduceSpec& spec) {
  if (spec.device == "cpu") return host_sums(world, world.library());
  SLUICE_TRY(const std::string own, train::cuda::device_of_rank(spec.device, world.local_rank()));
  return device_sums(world, own, largest(spec));
}

std::span<float> first_bytes(std::vector<float>& values, std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(bytes) / sizeof(float);
  if (values.size() < count) values.resize(count);
  return std::span(values).first(count);
}

Json order_of(const char* what, std::int64_t bytes) {
  return Json{{"do", what}, {"bytes", bytes}};
}

Status follow_order(train::World& world, RankSums& sums, const AllreduceSpec& spec,
                    const Json& order, std::vector<float>& values) {
  const auto bytes = order.at("bytes").get<std::int64_t>();
  const std::span<float> numbers = first_bytes(values, bytes);
  if (order.at("do") == kTimeOrder) {
    SystemClock clock;
    const int timed = sums_of(bytes, spec.sums);
    SLUICE_CHECK(time_sums(sums, numbers, warmup_of(timed), timed, clock));
    return ok;
  }
  SLUICE_CHECK(add_up_known(sums, numbers, world.rank()));
  const Status right = check_sum(numbers, world.size());
  return world.answer(right ? "" : right.error().message);
}

}  // namespace

Json to_json(const AllreduceSpec& spec) {
  return Json{{"world_size", spec.world_size},
              {"device", spec.device},
              {"bytes", spec.bytes},
              {"sums", spec.sums},
              {"rank_timeout_s", spec.rank_timeout_s}};
}

Result<AllreduceSpec> read_allreduce_spec(const Json& json) {
  const Json none = Json::object();
  const Json& found = json.is_object() ? json : none;
  const measure::Reply fields("spec", found);
  AllreduceSpec spec;
  SLUICE_TRY(const auto size, fields.integer("world_size", 2, kMostRanks));
  spec.world_size = static_cast<int>(size);
  SLUICE_TRY(spec.device, fields.text("device", spec.device));
  if (spec.device != "cpu") SLUICE_CHECK(train::cuda::device_index(spec.device));
  SLUICE_TRY(const auto sums, fields.integer("sums", 0, 1'000'000, 0));
  spec.sums = static_cast<int>(sums);
  SLUICE_TRY(spec.rank_timeout_s, fields.number("rank_timeout_s", spec.rank_timeout_s));
  const Json& list = fields.field("bytes");
  if (!list.is_array() || list.empty()) return fields.wrong("bytes", "a list of sizes");
  for (const Json& one : list) {
    if (!one.is_number_integer() || one < 4 || one > kMostSumBytes)
      return fields.wrong("bytes", "sizes of at least 4 bytes");
    spec.bytes.push_back(one.get<std::int64_t>());
  }
  return spec;
}

Result<std::unique_ptr<AllreduceWorld>> AllreduceWorld::start(const AllreduceSpec& spec) {
  SLUICE_TRY(auto world,
             open_worker_ranks({.size = spec.world_size,
                                .device = spec.device,
                                .timeout_s = spec.rank_timeout_s,
                                .arguments = {"worker", "--allreduce-rank", "--rank-timeout",
                                              fmt::format("{}", spec.rank_timeout_s)}}));
  std::unique_ptr<AllreduceWorld> made(new AllreduceWorld(std::move(world), spec));
  SLUICE_CHECK(made->meet());
  const Status opened = made->open();
  if (!opened && opened.error().code == Errc::usage)  // so the row is refused, and has not failed
    return Error{Errc::unsupported, opened.error().message};
  SLUICE_CHECK(opened);
  return made;
}

AllreduceWorld::~AllreduceWorld() {
  if (!world_->failed()) (void)world_->tell(kAllreduceEnd);
}

Status AllreduceWorld::meet() {
  Json job = to_json(spec_);
  job["program"] = version::text();
  SLUICE_CHECK(world_->tell(dump_json(job)));
  const Json mine = introduction(spec_, world_->local_rank());
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  std::vector<RankRoom> rooms;
  const auto wrong = [&](std::size_t rank, const std::string& what) {
    return Error{Errc::unsupported, fmt::format("rank {} of {}: {}", rank, world_->size(), what)};
  };
  for (std::size_t rank = 0; rank <= answers.size(); ++rank) {
    const Json said = rank == 0 ? mine : Json::parse(answers[rank - 1], nullptr, false);
    if (!said.is_object()) return wrong(rank, "its answer is not readable");
    const auto program = said.value("program", std::string());
    if (program != version::text())
      return wrong(rank,
                   fmt::format("runs sluice {}, rank 0 {}", printable(program), version::text()));
    if (const Json& error = at(said, "error"); error.is_string())
      return wrong(rank, printable(error.get<std::string>()));
    rooms.push_back(read_room(said.at("room")));
  }
  std::set<std::string> machines;
  for (const RankRoom& room : rooms)
    machines.insert(room.machine);
  machines_ = static_cast<int>(machines.size());
  const auto crowd = find_crowd(rooms, largest(spec_));
  if (!crowd) return ok;
  return wrong(crowd->rank,
               fmt::format("{} MiB are wanted by the {} of {}, {} are free; a smaller "
                           "--max-bytes fits",
                           crowd->wanted >> 20,
                           crowd->ranks == 1 ? "rank" : fmt::format("{} ranks", crowd->ranks),
                           crowd->device.empty() ? "its machine" : printable(crowd->device),
                           crowd->free >> 20));
}

Status AllreduceWorld::open() {
  SLUICE_CHECK(world_->tell(kAllreduceOpen));
  auto sums = open_sums(*world_, spec_);
  if (!sums) return over(sums.error());
  sums_ = std::move(*sums);
  return ok;
}

/// The others do not wait for what this rank cannot do.
Error AllreduceWorld::over(const Error& error) {
  if (!world_->failed()) world_->give_up(error);
  return error;
}

Status AllreduceWorld::check(std::int64_t bytes) {
  SLUICE_CHECK(world_->tell(dump_json(order_of(kCheckOrder, bytes))));
  const std::span<float> numbers = first_bytes(values_, bytes);
  if (const Status added = add_up_known(*sums_, numbers, 0); !added) return over(added.error());
  const Status right = check_sum(numbers, world_->size());
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (!answers[i].empty())
      return Error{Errc::measurement,
                   fmt::format("rank {} of {}: {}", i + 1, world_->size(), printable(answers[i]))};
  return right;
}

Result<SumTimes> AllreduceWorld::time(std::int64_t bytes, Clock& clock) {
  SLUICE_CHECK(world_->tell(dump_json(order_of(kTimeOrder, bytes))));
  const int timed = sums_of(bytes, spec_.sums);
  auto times = time_sums(*sums_, first_bytes(values_, bytes), warmup_of(timed), timed, clock);
  if (!times) return over(times.error());
  return times;
}

Status serve_allreduce(train::World& world) {
  SLUICE_TRY(const std::string told, world.hear());
  if (told == kAllreduceEnd) return ok;
  const Json job = Json::parse(told, nullptr, false);
  if (at(job, "program") != version::text()) {  // no other field need be as it is here
    SLUICE_CHECK(world.answer(dump_json(Json{{"program", version::text()}})));
    (void)world.hear();  // that it is over
    return ok;
  }
  SLUICE_TRY(const AllreduceSpec spec, read_allreduce_spec(job));
  SLUICE_CHECK(world.answer(dump_json(introduction(spec, world.local_rank()))));
  SLUICE_TRY(const std::string go, world.hear());
  if (go == kAllreduceEnd) return ok;
  SLUICE_TRY(const auto sums, open_sums(world, spec));
  std::vector<float> values;
  for (;;) {
    SLUICE_TRY(const std::string next, world.hear());
    if (next == kAllreduceEnd) return ok;
    SLUICE_CHECK(follow_order(world, *sums, spec, Json::parse(next), values));
  }
}

}  // namespace sluice::scenario
