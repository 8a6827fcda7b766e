// tests/config/reader_test.cpp - documents into structs, and all that can be wrong with one in a
// single Error.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/reader.h"

#include "sluice/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::config::reader_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

enum class Mode { fast, exact };

struct Policy {
  double min_change = 0.03;
  int bootstrap_draws = 10'000;
  Mode mode = Mode::fast;
  std::string name;
  static Result<Policy> parse(const Node& node) {
    Policy policy;
    Reader reader(node, "gate");
    reader.read("min_change", policy.min_change, share(open_interval(0.0, 1.0)));
    reader.read("bootstrap_draws", policy.bootstrap_draws, at_least(1000));
    reader.read("mode", policy.mode, names<Mode>({{"fast", Mode::fast}, {"exact", Mode::exact}}));
    reader.require("name", policy.name);
    SLUICE_CHECK(reader.finish());
    return policy;
  }
};

struct Job {
  std::string library;
  unsigned workers = 1;
};

struct Run {
  Policy gate;
  std::vector<Job> jobs;
  std::vector<std::string> libraries{"sluice"};
  std::vector<double> shares;
  std::filesystem::path data = "data";
  double timeout_s = 60;
  std::uint64_t memory_bytes = 0;
  bool resume = false;
  std::optional<int> seed;
  std::uint8_t small = 7;
  static Result<Run> parse(const Node& node) {
    Run run;
    Reader reader(node);
    reader.read("gate", run.gate);
    for (Reader& item : reader.children("jobs")) {
      Job job;
      item.require("library", job.library, one_of({"sluice", "opencv"}));
      item.read("workers", job.workers, closed_interval(1, 64));
      run.jobs.push_back(job);
    }
    reader.read("libraries", run.libraries);
    reader.read("shares", run.shares, closed_interval(0, 1));
    Reader data = reader.child("data");
    data.read("path", run.data);
    data.read("timeout", run.timeout_s, seconds(above(0.0)));
    data.read("memory", run.memory_bytes, bytes());
    reader.read("resume", run.resume);
    reader.read("seed", run.seed);
    reader.read("small", run.small);
    SLUICE_CHECK(reader.finish());
    return run;
  }
};

Result<Run> run_of(std::string_view text) {
  SLUICE_TRY(const Node node, parse(text, "run.yaml"));
  return Run::parse(node);
}
std::string error_of(std::string_view text) {
  const auto run = run_of(text);
  return run ? "accepted" : run.error().message;
}

constexpr std::string_view kWhole = R"(gate:
  min_change: 5%
  bootstrap_draws: 2000
  mode: exact
  name: nightly
jobs:
  - library: sluice
    workers: 4
  - library: opencv
libraries: [a, '2']
shares: [0, 0.5, 1]
data:
  path: /data/set
  timeout: 250ms
  memory: 2GiB
resume: true
seed: 42
small: 255
)";

TEST(Reader, ReadsEveryType) {
  const auto run = run_of(kWhole);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_DOUBLE_EQ(run->gate.min_change, 0.05);
  EXPECT_EQ(run->gate.bootstrap_draws, 2000);
  EXPECT_EQ(run->gate.mode, Mode::exact);
  EXPECT_EQ(run->gate.name, "nightly");
  ASSERT_EQ(run->jobs.size(), 2U);
  EXPECT_EQ(run->jobs[0].workers, 4U);
  EXPECT_EQ(run->jobs[1].library, "opencv");
  EXPECT_EQ(run->jobs[1].workers, 1U);
  EXPECT_EQ(run->libraries, (std::vector<std::string>{"a", "2"}));
  EXPECT_EQ(run->shares, (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(run->data, "/data/set");
  EXPECT_DOUBLE_EQ(run->timeout_s, 0.25);
  EXPECT_EQ(run->memory_bytes, std::uint64_t{2} << 30U);
  EXPECT_TRUE(run->resume);
  EXPECT_EQ(run->seed, 42);
  EXPECT_EQ(run->small, 255);
}

TEST(Reader, AbsentKeysKeepTheirDefaults) {
  const auto run = run_of("gate: {name: x}\nseed: null\ndata:\njobs: []\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_DOUBLE_EQ(run->gate.min_change, 0.03);
  EXPECT_EQ(run->data, "data");
  EXPECT_EQ(run->libraries, std::vector<std::string>{"sluice"});
  EXPECT_EQ(run->seed, std::nullopt);
}

TEST(Reader, ReportsOneProblemWithPlaceValueAndWhatIsAccepted) {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::string gate = "gate: {name: x}\n";
  const std::vector<Case> cases{
      {"gate:\n  name: x\n  min_chnage: 1%\n",
       "run.yaml:3: unknown key 'gate.min_chnage' (nearest: 'min_change')"},
      {gate + "librarys: []\n", "run.yaml:2: unknown key 'librarys' (nearest: 'libraries')"},
      {gate + "zzzzzz: 1\n",
       "run.yaml:2: unknown key 'zzzzzz' (accepted: gate, jobs, libraries, shares, data, resume, "
       "seed, small)"},
      {gate + "seed: 1\nseed: 2\n", "run.yaml:3: duplicate key 'seed' (first at run.yaml:2)"},
      {"gate:\n  min_change: 1%\n", "run.yaml:2: missing key 'gate.name'"},
      {"{}", "run.yaml:1: missing key 'gate.name'"},
      {"gate:\n  name: x\n  min_change: 100%\n",
       "run.yaml:3: gate.min_change: '100%' is not in (0, 1)"},
      {"gate:\n  name: x\n  min_change: ten\n",
       "run.yaml:3: gate.min_change: 'ten' is not a share (such as 5% or 0.05)"},
      {"gate: {name: x, bootstrap_draws: 999}\n",
       "run.yaml:1: gate.bootstrap_draws: '999' is not at least 1000"},
      {"gate: {name: x, bootstrap_draws: 1e4}\n",
       "run.yaml:1: gate.bootstrap_draws: '1e4' is not a whole number"},
      {"gate: {name: x, mode: fsat}\n",
       "run.yaml:1: gate.mode: 'fsat' is not one of fast, exact (nearest: 'fast')"},
      {"gate: {name: x, mode: [fast]}\n",
       "run.yaml:1: gate.mode: a list is not one of fast, exact"},
      {"gate: {name: {}}\n", "run.yaml:1: gate.name: a map is not text"},
      {"gate: {name: }\n", "run.yaml:1: gate.name: an empty value is not text"},
      {"gate: 5\n", "run.yaml:1: gate: '5' is not a map of keys"},
      {gate + "jobs: 3\n", "run.yaml:2: jobs: '3' is not a list"},
      {gate + "jobs:\n  - library: sluice\n  - 3\n",
       "run.yaml:4: jobs[1]: '3' is not a map of keys"},
      {gate + "jobs:\n  - workers: 2\n", "run.yaml:3: missing key 'jobs[0].library'"},
      {gate + "jobs:\n  - library: sluice\n    workers: 65\n",
       "run.yaml:4: jobs[0].workers: '65' is not in [1, 64]"},
      {gate + "jobs:\n  - library: sluice\n    workers: -1\n",
       "run.yaml:4: jobs[0].workers: '-1' is not a whole number of at least 0"},
      {gate + "jobs:\n  - library: sluice\n    wrokers: 1\n",
       "run.yaml:4: unknown key 'jobs[0].wrokers' (nearest: 'workers')"},
      {gate + "libraries: a\n", "run.yaml:2: libraries: 'a' is not a list"},
      {gate + "libraries:\n  - a\n  - [b]\n", "run.yaml:4: libraries[1]: a list is not text"},
      {gate + "shares: [0, 2]\n", "run.yaml:2: shares[1]: '2' is not in [0, 1]"},
      {gate + "shares: [.inf]\n", "run.yaml:2: shares[0]: '.inf' is not a number"},
      {gate + "shares: ['0.5']\n",
       "run.yaml:2: shares[0]: '0.5' is not a number (it is quoted text)"},
      {gate + "data: {timeout: 0s}\n", "run.yaml:2: data.timeout: '0s' is not above 0"},
      {gate + "data: {timeout: soon}\n",
       "run.yaml:2: data.timeout: 'soon' is not a duration (such as 250ms, 5s, 2min)"},
      {gate + "data: {memory: 1.5}\n",
       "run.yaml:2: data.memory: '1.5' is not a size in whole bytes (such as 512, 64KiB, 2GiB)"},
      {gate + "data: {path: [a]}\n", "run.yaml:2: data.path: a list is not text"},
      {gate + "data: []\n", "run.yaml:2: data: a list is not a map of keys"},
      {gate + "resume: yes\n", "run.yaml:2: resume: 'yes' is not true or false"},
      {gate + "resume: True\n", "run.yaml:2: resume: 'True' is not true or false"},
      {gate + "resume: 'true'\n", "run.yaml:2: resume: 'true' is not true or false"},
      {gate + "seed: 99999999999\n",
       "run.yaml:2: seed: '99999999999' is not between -2147483648 and 2147483647"},
      {gate + "small: 256\n", "run.yaml:2: small: '256' is not between 0 and 255"},
      {"- 1\n", "run.yaml:1: a list is not a map of keys"},
      {"hello", "run.yaml:1: 'hello' is not a map of keys"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(error_of(c.text), c.message) << c.text;
  }
}

TEST(Reader, ReportsEverythingAtOnceInTheOrderOfTheDocument) {
  const std::string message = error_of(R"(gate:
  min_change: 2
  mode: slow
jobs:
  - workers: 0
    colour: red
libraries: 7
seed: x
seed: 2
data: {tiemout: 1s}
)");
  EXPECT_EQ(
      message,
      "run.yaml:2: gate.min_change: '2' is not in (0, 1); run.yaml:2: missing key 'gate.name'; "
      "run.yaml:3: gate.mode: 'slow' is not one of fast, exact; "
      "run.yaml:5: missing key 'jobs[0].library'; run.yaml:5: jobs[0].workers: '0' is not in [1, "
      "64]; "
      "run.yaml:6: unknown key 'jobs[0].colour' (accepted: library, workers); "
      "run.yaml:7: libraries: '7' is not a list; run.yaml:8: seed: 'x' is not a whole number; "
      "run.yaml:9: duplicate key 'seed' (first at run.yaml:8); "
      "run.yaml:10: unknown key 'data.tiemout' (nearest: 'timeout')");
}

TEST(Reader, AWholeDocumentMayBeOneSection) {
  const auto node = parse("min_change: 7\nnaem: x\n", "gate.yaml");
  ASSERT_TRUE(node);
  const auto policy = Policy::parse(*node);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, Errc::invalid_config);
  EXPECT_THAT(policy.error().message,
              HasSubstr("gate.yaml:1: gate.min_change: '7' is not in (0, 1)"));
  EXPECT_THAT(policy.error().message,
              HasSubstr("gate.yaml:2: unknown key 'gate.naem' (nearest: 'name')"));
  EXPECT_THAT(policy.error().message, HasSubstr("missing key 'gate.name'"));
}

TEST(Reader, ChecksBetweenFieldsJoinTheOthers) {
  const auto node = parse("low: 5\nhigh: 3\nextra: 1\n", "f.yaml");
  ASSERT_TRUE(node);
  int low = 0;
  int high = 10;
  Reader reader(*node);
  reader.read("low", low);
  reader.read("high", high);
  if (low > high) reader.fail("low", "5 is above 'high'");
  reader.fail("absent", "and there is no such thing");
  const Status status = reader.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "f.yaml:1: low: 5 is above 'high'; f.yaml:1: absent: and there is no such thing; "
            "f.yaml:3: unknown key 'extra' (accepted: low, high)");
}

TEST(Reader, AWrongValueLeavesTheFieldAlone) {
  const auto node = parse("a: [1, x]\nb: 300\n", "f.yaml");
  ASSERT_TRUE(node);
  std::vector<int> a{9};
  std::uint8_t b = 9;
  Reader reader(*node);
  reader.read("a", a);
  reader.read("b", b);
  EXPECT_FALSE(reader.finish());
  EXPECT_EQ(a, std::vector<int>{9});
  EXPECT_EQ(b, 9);
}

TEST(Reader, HostileKeysAndValuesCannotForgeLines) {
  const std::string message = error_of("gate: {name: x}\n\"a\\n\\e[31m\": 1\nresume: \"x\\ny\"\n");
  EXPECT_THAT(message, HasSubstr("unknown key 'a\\n\\x1b[31m'"));
  EXPECT_THAT(message, HasSubstr("'x\\ny' is not true or false"));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

TEST(Reader, ManyProblemsStayReadable) {
  std::string text = "gate: {name: x}\n";
  for (int i = 0; i < 5000; ++i)
    text += "unknown" + std::to_string(i) + ": 1\n";
  const std::string message = error_of(text);
  EXPECT_THAT(message, HasSubstr("and 180 more"));
  EXPECT_LT(message.size(), 5000U);
  EXPECT_LT(error_of("gate: {name: x}\nresume: " + std::string(1'000'000, 'x')).size(), 200U);
}

TEST(Reader, HasTellsWrittenFromAbsent) {
  const auto node = parse("a:\n", "f.yaml");
  ASSERT_TRUE(node);
  Reader reader(*node);
  EXPECT_TRUE(reader.has("a"));
  EXPECT_FALSE(reader.has("b"));
  EXPECT_NE(reader.node("a"), nullptr);
  EXPECT_EQ(reader.node("b"), nullptr);
  EXPECT_TRUE(reader.finish());
}

TEST(Reader, ListsMayDemandElements) {
  const auto node = parse("a: []\n", "f.yaml");
  ASSERT_TRUE(node);
  std::vector<int> a;
  Reader reader(*node);
  reader.read("a", a, list_of(at_least(1), 1));
  const Status status = reader.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "f.yaml:1: a: a list has 0 of at least 1 elements");
}

}  // namespace
}  // namespace sluice::config::reader_test
