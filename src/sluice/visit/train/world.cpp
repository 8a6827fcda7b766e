// sluice/visit/train/world.cpp - ranks are started or joined; rank 0 compares what they are about
// to do.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/train/world.h"

#include "sluice/core/process/process.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/train/world/gather.h"
#include "sluice/train/world/open.h"
#include "sluice/train/world/rank_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sched.h>

namespace sluice::visit {
namespace {

constexpr const char* kGo = "go";
constexpr const char* kEnd = "end";

Result<std::unique_ptr<train::World>> open_ranks(const Caller& caller, const TrainRanks& ranks) {
  const train::WorldOptions options{.timeout_s = ranks.timeout_s};
  if (ranks.follows) return train::join_starter(options);
  if (ranks.launched.size > 1) return train::join_ranks(ranks.launched, options);
  SLUICE_TRY(const auto program, own_program());
  std::vector<std::string> command{program.string()};
  command.insert(command.end(), caller.argv.begin() + 1, caller.argv.end());
  command.emplace_back(kFollowFlag);
  return train::start_ranks(ranks.size, ranks.device, command, options);
}

Json answer_of(const Result<Json>& mine) {
  if (mine) return Json{{"has", *mine}};
  return Json{{"code", static_cast<int>(mine.error().code)}, {"error", mine.error().message}};
}

/// "--lr is 0.5, rank 0 has 0.1"; empty: they are the same.
std::string first_difference(const Json& theirs, const Json& mine, const std::string& of = "") {
  for (const auto& [key, value] : mine.items()) {
    const Json& other = at(theirs, key.c_str());
    if (other == value) continue;
    if (other.is_object() && value.is_object()) return first_difference(other, value, key + "'s ");
    return fmt::format("{}{} is {}, rank 0 has {}", of, key, printable(other.dump()),
                       printable(value.dump()));
  }
  return {};
}

/// Why rank `rank` cannot train with rank 0.
Status check_answer(const std::string& answer, const Json& mine, int rank, int size) {
  const auto wrong = [&](Errc code, const std::string& what) {
    return Error{code, fmt::format("rank {} of {}: {}", rank, size, what)};
  };
  const Json said = Json::parse(answer, nullptr, false);
  if (!said.is_object()) return wrong(Errc::unsupported, "its answer is not readable");
  if (const Json& error = at(said, "error"); error.is_string())
    return wrong(static_cast<Errc>(said.value("code", 0)), error.get<std::string>());
  const std::string difference = first_difference(at(said, "has"), mine);
  return difference.empty() ? ok : Status(wrong(Errc::invalid_input, difference));
}

}  // namespace

Result<std::unique_ptr<TrainWorld>> TrainWorld::open(const Caller& caller,
                                                     const TrainRanks& ranks) {
  SLUICE_TRY(auto opened, open_ranks(caller, ranks));
  std::unique_ptr<TrainWorld> world(new TrainWorld(std::move(opened)));
  SLUICE_CHECK(world->count_sharing());
  return world;
}

/// A launcher may bind each rank to cores of its own; ranks with the same ones share them.
Status TrainWorld::count_sharing() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  Sha256 digest;
  digest.update(std::as_bytes(std::span(&cores, 1)));
  digest.update(std::to_string(train::this_process().machine));
  const std::array<double, 1> mine{
      static_cast<double>(std::strtoull(digest.hex().substr(0, 12).c_str(), nullptr, 16))};
  SLUICE_TRY(const std::vector<double> all, train::gather(*world_, mine));
  sharing_ = static_cast<int>(std::count(all.begin(), all.end(), mine.front()));
  return ok;
}

Status TrainWorld::hear_verdict(const Result<Json>& mine) {
  silent_ = true;
  SLUICE_CHECK(world_->answer(dump_json(answer_of(mine))));
  SLUICE_TRY(const std::string verdict, world_->hear());
  if (!mine) return mine.error();
  if (verdict != kGo) return Error{Errc::usage, "rank 0 does not begin"};
  silent_ = false;
  return ok;
}

Status TrainWorld::agree(const Result<Json>& mine) {
  if (!leads()) return hear_verdict(mine);
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  Status verdict = mine ? ok : Status(mine.error());
  for (std::size_t i = 0; i < answers.size() && verdict; ++i)
    verdict = check_answer(answers[i], *mine, static_cast<int>(i) + 1, world_->size());
  SLUICE_CHECK(world_->tell(verdict ? kGo : kEnd));
  return verdict;
}

}  // namespace sluice::visit
