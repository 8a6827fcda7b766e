// sluice/scenario/allreduce/world.cpp - what rank 0 says, and what the others make of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/allreduce/world.h"

#include "sluice/core/free_memory.h"
#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/measure/worker/reply.h"
#include "sluice/scenario/worker_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unistd.h>

namespace sluice::scenario {
namespace {

constexpr const char* kAllreduceEnd = "end";
constexpr const char* kCheckOrder = "check";
constexpr const char* kTimeOrder = "time";
constexpr std::int64_t kMostRanks = 1024;
constexpr std::int64_t kMostSumBytes = std::int64_t{1} << 40;

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// Who this rank is, and what its machine has.
Json introduction() {
  return Json{{"program", version::text()},
              {"machine", machine_name()},
              {"free_bytes", free_memory_bytes()}};
}

std::span<float> first_bytes(std::vector<float>& values, std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(bytes) / sizeof(float);
  if (values.size() < count) values.resize(count);
  return std::span(values).first(count);
}

Status checked_sum(train::Communicator& ranks, std::span<float> values) {
  fill_for_sum(values, ranks.rank());
  SLUICE_CHECK(ranks.start_sum(values));
  SLUICE_CHECK(ranks.finish());
  return check_sum(values, ranks.size());
}

Json order_of(const char* what, std::int64_t bytes) {
  return Json{{"do", what}, {"bytes", bytes}};
}

Status follow_order(train::World& world, const AllreduceSpec& spec, const Json& order,
                    std::vector<float>& values) {
  const auto bytes = order.at("bytes").get<std::int64_t>();
  const std::span<float> numbers = first_bytes(values, bytes);
  if (order.at("do") == kTimeOrder) {
    SystemClock clock;
    const int sums = sums_of(bytes, spec.sums);
    SLUICE_CHECK(time_sums(world, numbers, warmup_of(sums), sums, clock));
    return ok;
  }
  const Status right = checked_sum(world, numbers);
  if (world.failed()) return right;
  return world.answer(right ? "" : right.error().message);
}

}  // namespace

Json to_json(const AllreduceSpec& spec) {
  return Json{{"world_size", spec.world_size},
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

std::int64_t bytes_of_rank(const AllreduceSpec& spec) {
  return 2 * *std::max_element(spec.bytes.begin(), spec.bytes.end());
}

Result<std::unique_ptr<AllreduceWorld>> AllreduceWorld::start(const AllreduceSpec& spec) {
  SLUICE_TRY(auto world, open_worker_ranks({.size = spec.world_size,
                                            .timeout_s = spec.rank_timeout_s,
                                            .arguments = {"worker", "--allreduce-rank"}}));
  std::unique_ptr<AllreduceWorld> made(new AllreduceWorld(std::move(world), spec));
  SLUICE_CHECK(made->meet());
  return made;
}

AllreduceWorld::~AllreduceWorld() {
  if (!world_->failed()) (void)world_->tell(kAllreduceEnd);
}

/// Ranks of one machine share its memory.
Status AllreduceWorld::meet() {
  Json job = to_json(spec_);
  job["program"] = version::text();
  SLUICE_CHECK(world_->tell(dump_json(job)));
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  std::vector<Json> all{introduction()};
  for (const std::string& answer : answers)
    all.push_back(Json::parse(answer, nullptr, false));
  const auto wrong = [&](std::size_t rank, const std::string& what) {
    return Error{Errc::unsupported, fmt::format("rank {} of {}: {}", rank, all.size(), what)};
  };
  std::map<std::string, std::int64_t> ranks_of;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].is_object()) return wrong(rank, "its answer is not readable");
    const auto program = all[rank].value("program", std::string());
    if (program != version::text())
      return wrong(rank,
                   fmt::format("runs sluice {}, rank 0 {}", printable(program), version::text()));
    ++ranks_of[all[rank].value("machine", std::string())];
  }
  machines_ = static_cast<int>(ranks_of.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::int64_t together = ranks_of[all[rank].value("machine", std::string())];
    const auto free = all[rank].value("free_bytes", std::int64_t{0});
    if (free > 0 && together * bytes_of_rank(spec_) > free)
      return wrong(rank, fmt::format("{} MiB are wanted by the {} ranks of its machine, {} are "
                                     "free; a smaller --max-bytes fits",
                                     together * bytes_of_rank(spec_) >> 20, together, free >> 20));
  }
  return ok;
}

Status AllreduceWorld::check(std::int64_t bytes) {
  SLUICE_CHECK(world_->tell(dump_json(order_of(kCheckOrder, bytes))));
  const Status right = checked_sum(*world_, first_bytes(values_, bytes));
  if (world_->failed()) return right;
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (!answers[i].empty())
      return Error{Errc::measurement,
                   fmt::format("rank {} of {}: {}", i + 1, world_->size(), printable(answers[i]))};
  return right;
}

Result<SumTimes> AllreduceWorld::time(std::int64_t bytes, Clock& clock) {
  SLUICE_CHECK(world_->tell(dump_json(order_of(kTimeOrder, bytes))));
  const int sums = sums_of(bytes, spec_.sums);
  return time_sums(*world_, first_bytes(values_, bytes), warmup_of(sums), sums, clock);
}

Status serve_allreduce(train::World& world) {
  SLUICE_TRY(const std::string told, world.hear());
  if (told == kAllreduceEnd) return ok;
  const Json job = Json::parse(told, nullptr, false);
  if (at(job, "program") != version::text()) {  // no other field need be as it is here
    SLUICE_CHECK(world.answer(dump_json(introduction())));
    (void)world.hear();  // that it is over
    return ok;
  }
  SLUICE_TRY(const AllreduceSpec spec, read_allreduce_spec(job));
  SLUICE_CHECK(world.answer(dump_json(introduction())));
  std::vector<float> values;
  for (;;) {
    SLUICE_TRY(const std::string next, world.hear());
    if (next == kAllreduceEnd) return ok;
    SLUICE_CHECK(follow_order(world, spec, Json::parse(next), values));
  }
}

}  // namespace sluice::scenario
