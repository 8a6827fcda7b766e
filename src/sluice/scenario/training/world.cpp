// sluice/scenario/training/world.cpp - what rank 0 says, and what the others make of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/world.h"

#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/scenario/training/steps.h"
#include "sluice/scenario/worker_ranks.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/world/rank_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::scenario {
namespace {

constexpr const char* kStep = "step";
constexpr const char* kReport = "report";
constexpr const char* kEnd = "end";

Json json_of(const measure::SubjectContext& context) {
  return Json{
      {"threads", context.threads}, {"seed", context.seed}, {"data_dir", context.data_dir.string()},
      {"case", context.case_name},  {"spec", context.spec}, {"program", version::text()}};
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

/// `said`: by another rank.
std::string other_version(const Json& said) {
  const Json& program = at(said, "program");
  return fmt::format("runs sluice {}, rank 0 {}",
                     program.is_string() ? printable(program.get<std::string>()) : "of no version",
                     version::text());
}

/// How long this rank waited, and where it is: digits that are the same for all of a machine.
Json report_of(const std::vector<train::SyncTimes>& all) {
  const std::uint64_t machine = train::this_process().machine;
  Json waited = Json::array();
  for (const train::SyncTimes& one : all)
    waited.push_back(one.waited_ns);
  return Json{{"waited_ns", std::move(waited)},
              {"host", machine == 0 ? Json() : Json(fmt::format("{:08x}", machine >> 32))}};
}

Result<std::unique_ptr<TrainingSteps>> prepare(const measure::SubjectContext& context,
                                               train::World& world) {
  SLUICE_TRY(TrainingSpec spec, read_training_spec(context));
  spec.engine.world = &world;
  SLUICE_TRY(spec.engine.device,
             train::cuda::device_of_rank(spec.engine.device, world.local_rank()));
  SLUICE_TRY(auto engine, train::Engine::make(spec.engine));
  SLUICE_TRY(auto feed, open_feed(spec, context, *engine));
  return std::make_unique<TrainingSteps>(spec, std::move(engine), std::move(feed));
}

Json samples_of(const TrainingFeed* feed) {
  if (feed == nullptr) return Json{{"count", 0}, {"digest", nullptr}};
  return Json{{"count", feed->size()}, {"digest", digest_of(feed->dataset())}};
}

Status follow(TrainingSteps& steps, train::World& world) {
  std::vector<train::SyncTimes> sync;
  for (;;) {
    SLUICE_TRY(const std::string told, world.hear());
    if (told == kEnd) return ok;
    if (told == kReport) {
      SLUICE_CHECK(world.answer(dump_json(report_of(sync))));
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
  SLUICE_TRY(auto world,
             open_worker_ranks({.size = spec.world_size,
                                .device = spec.engine.device,
                                .own = spec.sync_alone,
                                .timeout_s = spec.rank_timeout_s,
                                .arguments = {"worker", "--rank", "--rank-timeout",
                                              fmt::format("{}", spec.rank_timeout_s)}}));
  std::unique_ptr<TrainingWorld> made(new TrainingWorld(std::move(world)));
  SLUICE_CHECK(made->world_->tell(dump_json(json_of(context))));
  return made;
}

TrainingWorld::~TrainingWorld() {
  end();
}

void TrainingWorld::end() {
  if (!std::exchange(ended_, true) && !world_->failed()) (void)world_->tell(kEnd);
}

Status TrainingWorld::ready(const TrainingFeed* feed) {
  const Json mine = samples_of(feed);
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Json said = Json::parse(answers[i], nullptr, false);
    const auto wrong = [&](const std::string& what) {
      return Error{Errc::unsupported,
                   fmt::format("rank {} of {}: {}", i + 1, answers.size() + 1, what)};
    };
    if (!said.is_object()) return wrong("its answer is not readable");
    if (at(said, "program") != version::text()) return wrong(other_version(said));
    if (const Json& error = at(said, "error"); error.is_string())
      return wrong(printable(error.get<std::string>()));
    if (said["samples"] != mine)
      return wrong(fmt::format("finds {} samples of digest {} in the input, rank 0 {} of {}",
                               said["samples"]["count"].dump(), said["samples"]["digest"].dump(),
                               mine["count"].dump(), mine["digest"].dump()));
  }
  return ok;
}

Status TrainingWorld::step() {
  return world_->tell(kStep);
}

Result<Json> TrainingWorld::report(const std::string& device_sums) {
  Json exposed = Json::array();
  Json in_flight = Json::array();
  for (const train::SyncTimes& one : sync_) {
    exposed.push_back(one.exposed_ns);
    in_flight.push_back(one.in_flight_ns);
  }
  Json waited = Json::array();
  Json hosts = Json::array();
  Json mine = report_of(sync_);
  waited.push_back(std::move(mine["waited_ns"]));
  hosts.push_back(std::move(mine["host"]));
  SLUICE_CHECK(world_->tell(kReport));
  SLUICE_TRY(const std::vector<std::string> answers, world_->answers());
  for (const std::string& answer : answers) {
    Json said = Json::parse(answer, nullptr, false);  // by the same program
    Json& all = said["waited_ns"];
    const std::size_t more = all.size() - std::min(all.size(), sync_.size());
    all.erase(all.begin(),
              all.begin() + static_cast<std::ptrdiff_t>(more));  // those before begin()
    waited.push_back(std::move(all));
    hosts.push_back(std::move(said["host"]));
  }
  return Json{{"size", world_->size()},
              {"library", device_sums.empty() ? world_->library() : device_sums},
              {"bytes", sync_.empty() ? 0 : sync_.back().bytes},
              {"exposed_ns", std::move(exposed)},
              {"in_flight_ns", std::move(in_flight)},
              {"waited_ns", std::move(waited)},
              {"hosts", std::move(hosts)}};
}

Status serve_rank(train::World& world) {
  SLUICE_TRY(const std::string told, world.hear());
  if (told == kEnd) return ok;
  const Json job = Json::parse(told, nullptr, false);
  if (!job.is_object()) return Error{Errc::internal, "rank 0 speaks another language"};
  // Of another version no field need be as it is here. Devices may be adding up already.
  if (at(job, "program") != version::text()) {
    if (at(at(job, "spec"), "device") != "cpu")
      return Error{Errc::unsupported,
                   fmt::format("runs sluice {}, rank 0 another version", version::text())};
    SLUICE_CHECK(world.answer(dump_json(Json{{"program", version::text()}})));
    (void)world.hear();  // that it is over
    return ok;
  }
  const measure::SubjectContext context = context_of(job);
  const auto steps = prepare(context, world);
  // Where devices add up, rank 0 may be waiting for this one already.
  if (!steps && (world.failed() || at(context.spec, "device") != "cpu")) return steps.error();
  Json answer{{"program", version::text()},
              {"samples", samples_of(steps ? (*steps)->feed() : nullptr)}};
  if (!steps) answer["error"] = steps.error().message;
  SLUICE_CHECK(world.answer(dump_json(answer)));
  if (!steps) {
    (void)world.hear();  // rank 0 says what is wrong, and then that it is over
    return ok;
  }
  return follow(**steps, world);
}

}  // namespace sluice::scenario
