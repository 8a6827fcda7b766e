// tests/measure/reply_test.cpp - what a worker may leave out of its answers, and what costs its
// row.
// SPDX-License-Identifier: Apache-2.0
#include "tests/measure/scripted_world.h"

namespace sluice::measure::reply_test {
namespace {

using ::testing::HasSubstr;
using ReplyTest = RunnerFixture;

TEST_F(ReplyTest, AnswersThatCannotBeReadCostTheRow) {
  struct Case {
    const char* step;
    const char* key;
    Json value;
  };
  const std::vector<Case> cases{
      {"hello", "protocol", 2},
      {"hello", "protocol", nullptr},
      {"hello", "version", 5},
      {"hello", "version", std::string(5000, 'x')},
      {"configure", "threads", "1"},
      {"configure", "threads", nullptr},
      {"configure", "threads", 0},
      {"prepare", "items_per_pass", 0},
      {"prepare", "items_per_pass", -4},
      {"prepare", "items_per_pass", 1.5},
      {"prepare", "items_per_pass", Json::object()},
      {"prepare", "items_per_pass", nullptr},
      {"prepare", "items_per_pass", 9223372036854775807},
      {"prepare", "bytes_per_item", "x"},
      {"prepare", "bytes_per_item", -1},
      {"check", "digest", nullptr},
      {"check", "digest", ""},
      {"check", "digest", 5},
      {"preflight", "pass_ns", 0},
      {"preflight", "pass_ns", nullptr},
      {"preflight", "pass_ns", 1e300},
      {"preflight", "pass_ns", 18446744073709551615u},
      {"measure", "samples_ns", nullptr},
      {"measure", "samples_ns", Json::array()},
      {"measure", "samples_ns", 5},
      {"measure", "samples_ns", Json{{"a", 5}}},
      {"measure", "samples_ns", Json::array({0})},
      {"measure", "samples_ns", Json::array({1.5})},
      {"measure", "samples_ns", Json::array({"1"})},
      {"measure", "samples_ns", Json::array({5, 18446744073709551615u})},
      {"measure", "items_per_sample", 39},
      {"measure", "items_per_sample", nullptr},
      {"measure", "start_ns", "x"},
      {"measure", "start_ns", nullptr},
      {"measure", "cpu_ns", nullptr},
      {"measure", "cpu_ns", -1},
      {"measure", "major_faults", "x"},
      {"measure", "involuntary_switches", 0.5},
      {"measure", "warmup_passes", -1},
      {"measure", "throttled", 1},
      {"measure", "counters_reason", 1},
      {"measure", "counters", Json{{"cycles", "x"}}},
  };
  policy.runs = 1;
  use({"a", "b"});
  for (const Case& one : cases) {
    world.hook = [&](const std::string& name, const std::string& type, int, Json& reply) {
      if (name == "b" && type == one.step) {
        reply[one.key] = one.value;
        if (one.value.is_null()) reply.erase(one.key);
      }
      return std::nullopt;
    };
    const WaveResult wave = run();
    const std::string shown = std::string(one.step) + " " + one.key + " " + one.value.dump();
    EXPECT_EQ(wave.rows.at(0).status, RowStatus::ok) << shown;
    EXPECT_EQ(wave.rows.at(1).status, RowStatus::failed) << shown;
    EXPECT_THAT(wave.rows.at(1).reason, HasSubstr(one.step)) << shown;
    EXPECT_TRUE(wave.rows.at(1).runs.empty()) << shown;
    EXPECT_LT(wave.rows.at(1).reason.size(), 300u);
  }
}

TEST_F(ReplyTest, FieldsThatMayBeMissing) {
  use({"a"});
  world.hook = [&](const std::string&, const std::string& type, int,
                   Json& reply) -> std::optional<Error> {
    if (type == "launch") return std::nullopt;
    for (const char* key : {"version", "bytes_per_item", "warmup_passes", "major_faults",
                            "involuntary_switches", "throttled", "counters_reason"}) {
      reply.erase(key);
    }
    reply["unknown"] = type;
    return std::nullopt;
  };
  const Row row = run().rows.at(0);
  EXPECT_EQ(row.status, RowStatus::ok) << row.reason;
  EXPECT_EQ(row.runs.at(0).counters.reason, "the worker counts none");
}

TEST_F(ReplyTest, SeveralSamplesInOneAnswerAreAllKept) {
  use({"a"});
  world.hook = [](const std::string&, const std::string& type, int, Json& reply) {
    if (type == "measure") {
      reply["samples_ns"] = Json::array({10'000'000, 12'000'000});
      reply["cpu_ns"] = 22'000'000;
    }
    return std::nullopt;
  };
  const Row row = run().rows.at(0);
  EXPECT_EQ(row.runs.at(0).samples_ns.size(), 4u);
  EXPECT_EQ(row.summary->n_samples, 12);
}

}  // namespace
}  // namespace sluice::measure::reply_test
