// tests/measure/scripted_world.h - workers without processes: they answer from a script and note
// who ran while whom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/log.h"
#include "sluice/measure/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measure/support.h"
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::measure {

struct World;

class ScriptedWorker final : public Worker {
 public:
  ScriptedWorker(World& world, std::string name, int launch);
  ~ScriptedWorker() override;
  Result<Json> request(Json request, double timeout_s) override;
  void pause() override;
  void resume() override;
  void finish() override;
  [[nodiscard]] std::int64_t pid() const override { return pid_; }
  [[nodiscard]] std::optional<std::int64_t> peak_rss_bytes() const override {
    return finished_ ? std::optional<std::int64_t>(1000 + pid_) : std::nullopt;
  }

  [[nodiscard]] bool runs() const { return !finished_ && !paused_; }

 private:
  Json answer(const std::string& type, const Json& request) const;

  World& world_;
  std::string name_;
  int launch_;  // of its name, from 1
  std::int64_t pid_;
  bool paused_ = false;
  bool finished_ = false;
  std::vector<std::string> said_;
};

/// One measured sample, in the order in which they happened.
struct TakenSample {
  std::string name;
  int launch = 0;
};

struct World final : Launcher {
  /// May change the answer, or give an Error in its place.
  using Hook = std::function<std::optional<Error>(const std::string& name, const std::string& type,
                                                  int launch, Json& answer)>;

  Result<std::unique_ptr<Worker>> launch(const LaunchOptions& options) override {
    const std::string& name = options.command.at(0);
    launched.push_back(options);
    Json none;
    const int number = ++launches[name];
    if (hook) {
      if (auto error = hook(name, "launch", number, none)) return *error;
    }
    return std::unique_ptr<Worker>(std::make_unique<ScriptedWorker>(*this, name, number));
  }

  /// Names in the order of their first samples, per block.
  [[nodiscard]] std::vector<std::vector<std::string>> orders(int samples_per_run) const {
    std::map<int, std::vector<std::string>> blocks;
    std::map<std::string, int> seen;
    for (const TakenSample& one : measured) {
      const int k = seen[one.name]++;
      if (k % samples_per_run == 0) blocks[k / samples_per_run].push_back(one.name);
    }
    std::vector<std::vector<std::string>> result;
    for (auto& [block, names] : blocks)
      result.push_back(std::move(names));
    return result;
  }

  ManualClock clock;
  Hook hook;
  std::vector<LaunchOptions> launched;
  std::map<std::string, int> launches;
  std::vector<TakenSample> measured;
  Json last_request;
  std::vector<ScriptedWorker*> alive;
  std::int64_t pass_ns = 1'000'000;
  std::optional<std::int64_t> takes_ns;  // of every answer, whatever it claims; absent: as it says
  bool preflight_everywhere = true;      // false: one process of each library does
  std::int64_t next_pid = 100;
};

inline ScriptedWorker::ScriptedWorker(World& world, std::string name, int launch)
    : world_(world), name_(std::move(name)), launch_(launch), pid_(world.next_pid++) {
  world_.alive.push_back(this);
}

inline ScriptedWorker::~ScriptedWorker() {
  world_.alive.erase(std::find(world_.alive.begin(), world_.alive.end(), this));
}

inline void ScriptedWorker::pause() {
  EXPECT_FALSE(paused_) << name_ << " is stopped twice";
  paused_ = true;
}

inline void ScriptedWorker::resume() {
  EXPECT_TRUE(paused_) << name_ << " is continued but was not stopped";
  paused_ = false;
}

inline void ScriptedWorker::finish() {
  finished_ = true;
}

inline Json ScriptedWorker::answer(const std::string& type, const Json& request) const {
  if (type == "hello") return Json{{"protocol", 1}, {"version", "v-" + name_}};
  if (type == "configure") return Json{{"threads", request.at("threads")}};
  if (type == "prepare") return Json{{"items_per_pass", 4}, {"bytes_per_item", 2.5}};
  if (type == "check") return Json{{"digest", "d-" + name_}};
  if (type == "preflight") return Json{{"pass_ns", world_.pass_ns}};
  if (type != "measure") return Json::object();
  const std::int64_t elapsed = world_.pass_ns * request.at("passes").get<std::int64_t>();
  return Json{{"start_ns", world_.clock.now_ns()},
              {"samples_ns", Json::array({elapsed})},
              {"items_per_sample", 4 * request.at("passes").get<std::int64_t>()},
              {"warmup_passes", 3},
              {"cpu_ns", elapsed},
              {"major_faults", 1},
              {"involuntary_switches", 2},
              {"throttled", false},
              {"counters_reason", "scripted"}};
}

/// As long as it says: nobody lies unless a test asks for it.
inline std::int64_t claimed_ns(const Json& reply) {
  constexpr std::int64_t kLongestSampleNs = 1'000'000'000'000;
  std::int64_t sum = 0;
  const auto samples = reply.find("samples_ns");
  if (samples == reply.end() || !samples->is_array()) return 0;
  for (const Json& ns : *samples)
    if (ns.is_number_integer())
      sum += std::min<std::int64_t>(ns.get<std::int64_t>(), kLongestSampleNs);
  return sum;
}

inline Result<Json> ScriptedWorker::request(Json request, double) {
  const std::string type = request.at("type");
  said_.push_back(type);
  EXPECT_TRUE(runs()) << type << " to " << name_ << ", which cannot answer";
  for (const ScriptedWorker* other : world_.alive)
    EXPECT_TRUE(other == this || !other->runs()) << other->name_ << " runs beside " << name_;
  if (type == "measure") {
    EXPECT_THAT(said_, ::testing::IsSupersetOf({"hello", "configure", "load", "prepare", "check"}));
    if (world_.preflight_everywhere) {
      EXPECT_THAT(said_, ::testing::Contains("preflight"));
    }
    world_.measured.push_back({name_, launch_});
  }
  world_.last_request = request;
  Json reply = answer(type, request);
  if (world_.hook) {
    if (auto error = world_.hook(name_, type, launch_, reply)) return *error;
  }
  world_.clock.advance(1000 + world_.takes_ns.value_or(claimed_ns(reply)));
  return reply;
}

/// Subjects "a", "b", ...; every case by itself.
class RunnerFixture : public ::testing::Test {
 protected:
  RunnerFixture() {
    log::set_level(log::Level::off);
    policy.runs = 3;
    policy.samples_per_run = 2;
    policy.min_sample_ms = 10;
    policy.seed = 5;
    context.clock = &world.clock;
    context.launcher = &world;
    context.progress = &Progress::silent();
    context.session_id = "s1";
  }
  ~RunnerFixture() override { EXPECT_TRUE(world.alive.empty()) << "a worker was left behind"; }

  void use(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      SubjectSpec spec;
      spec.case_name = "case-" + name;
      spec.command = {name};
      subjects.push_back(spec);
    }
  }
  WaveResult run(std::vector<Row> so_far = {}) {
    auto result = run_wave(subjects, policy, context, std::move(so_far));
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? std::move(*result) : WaveResult{};
  }

  World world;
  Policy policy;
  RunnerContext context;
  std::vector<SubjectSpec> subjects;
};

}  // namespace sluice::measure
