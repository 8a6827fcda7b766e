// sluice/scenario/training/world.cpp - what rank 0 says, and what the others make of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/world.h"

#include "sluice/core/version.h"
#include "sluice/scenario/training/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace sluice::scenario {
namespace {

constexpr const char* kStep = "step";
constexpr const char* kReport = "report";
constexpr const char* kEnd = "end";

Json json_of(const measure::SubjectContext& context) {
  return Json{{"threads", context.threads},
              {"seed", context.seed},
              {"data_dir", context.data_dir.string()},
              {"case", context.case_name},
              {"spec", context.spec}};
}

/// Written by json_of() in the same program: no field is wrong.
measure::SubjectContext context_of(const Json& json) {
  measure::SubjectContext context;
  context.threads = json.at("threads").get<int>();
  context.seed = json.at("seed").get<std::uint64_t>();
  context.data_dir = json.at("data_dir").get<std::string>();
  context.case_name = json.at("case").get<std::string>();
  context.spec = json.at("spec");
  return context;
}

Json waits_of(const std::vector<train::SyncTimes>& all) {
  Json list = Json::array();
  for (const train::SyncTimes& one : all)
    list.push_back(one.waited_ns);
  return list;
}

Result<std::unique_ptr<TrainingSteps>> prepare(const measure::SubjectContext& context,
                                               train::MpiWorld& world) {
  SLUICE_TRY(TrainingSpec spec, read_training_spec(context));
  spec.engine.world = &world;
  SLUICE_TRY(auto engine, train::Engine::make(spec.engine));
  SLUICE_TRY(auto feed, open_feed(spec, context, *engine));
  return std::make_unique<TrainingSteps>(spec, std::move(engine), std::move(feed));
}

std::string who_am_i() {
  return fmt::format("{} ({})", version::kProgram, version::git());
}

Status follow(TrainingSteps& steps, train::MpiWorld& world) {
  std::vector<train::SyncTimes> sync;
  for (;;) {
    SLUICE_TRY(const std::string told, world.hear());
    if (told == kEnd) return ok;
    if (told == kReport) {
      SLUICE_CHECK(world.answer(dump_json(waits_of(sync))));
      sync.clear();
      continue;
    }
    SLUICE_TRY(const train::StepResult result, steps.take());
    sync.push_back(result.sync);
  }
}

}  // namespace

Result<std::unique_ptr<TrainingWorld>> TrainingWorld::start(
    const TrainingSpec& spec, const measure::SubjectContext& context) {
  const train::MpiWorld::Options options{.timeout_s = spec.rank_timeout_s};
  SLUICE_TRY(const train::LaunchedRank launched, train::find_rank());
  std::unique_ptr<train::MpiWorld> world;
  if (launched.size > 1) {
    SLUICE_TRY(world, train::MpiWorld::join(launched, options));
  } else {
    std::error_code problem;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", problem);
    if (problem) return Error{Errc::io, "/proc/self/exe: " + problem.message()};
    SLUICE_TRY(world, train::MpiWorld::start(spec.world_size,
                                             {program.string(), "worker", "--rank"}, options));
  }
  std::unique_ptr<TrainingWorld> made(new TrainingWorld(std::move(world)));
  SLUICE_CHECK(made->world_->tell(dump_json(json_of(context))));
  return made;
}

TrainingWorld::~TrainingWorld() {
  if (!world_->failed()) (void)world_->tell(kEnd);
}

Status TrainingWorld::ready(std::uint64_t samples) {
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Json said = Json::parse(answers[i], nullptr, false);
    const auto wrong = [&](const std::string& what) {
      return Error{Errc::unsupported,
                   fmt::format("rank {} of {}: {}", i + 1, answers.size() + 1, what)};
    };
    if (!said.is_object()) return wrong("its answer is not readable");
    if (said.contains("error")) return wrong(said["error"].get<std::string>());
    if (said["program"] != who_am_i())
      return wrong(
          fmt::format("runs sluice {}, rank 0 {}", said["program"].get<std::string>(), who_am_i()));
    if (said["samples"] != samples)
      return wrong(fmt::format("finds {} samples in the input, rank 0 {}",
                               said["samples"].get<std::uint64_t>(), samples));
  }
  return ok;
}

Status TrainingWorld::step() {
  return world_->tell(kStep);
}

Result<Json> TrainingWorld::report() {
  Json exposed = Json::array();
  Json in_flight = Json::array();
  for (const train::SyncTimes& one : sync_) {
    exposed.push_back(one.exposed_ns);
    in_flight.push_back(one.in_flight_ns);
  }
  Json waited = Json::array();
  waited.push_back(waits_of(sync_));
  SLUICE_CHECK(world_->tell(kReport));
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  for (const std::string& answer : answers) {
    Json all = Json::parse(answer, nullptr, false);
    const std::size_t more = all.size() - std::min(all.size(), sync_.size());
    all.erase(all.begin(),
              all.begin() + static_cast<std::ptrdiff_t>(more));  // those before begin()
    waited.push_back(std::move(all));
  }
  return Json{{"size", world_->size()},
              {"library", world_->library()},
              {"bytes", sync_.empty() ? 0 : sync_.back().bytes},
              {"exposed_ns", std::move(exposed)},
              {"in_flight_ns", std::move(in_flight)},
              {"waited_ns", std::move(waited)}};
}

Status serve_rank(train::MpiWorld& world) {
  SLUICE_TRY(const std::string told, world.hear());
  if (told == kEnd) return ok;
  const Json job = Json::parse(told, nullptr, false);
  if (!job.is_object()) return Error{Errc::internal, "rank 0 speaks another language"};
  const auto steps = prepare(context_of(job), world);
  Json answer{{"program", who_am_i()}, {"samples", 0}};
  if (!steps) answer["error"] = steps.error().message;
  if (steps && (*steps)->feed() != nullptr) answer["samples"] = (*steps)->feed()->size();
  SLUICE_CHECK(world.answer(dump_json(answer)));
  if (!steps) return steps.error();
  return follow(**steps, world);
}

}  // namespace sluice::scenario
