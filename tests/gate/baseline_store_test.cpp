// tests/gate/baseline_store_test.cpp - promotion, reading, listing and pruning on real files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/gate/baseline/promotion.h"
#include "sluice/gate/baseline/store.h"
#include "sluice/gate/baseline/workload.h"

#include <gmock/gmock.h>

#include "tests/gate/gate_files.h"
#include <atomic>
#include <csignal>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace sluice::gate::baseline_store_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Store : public ::testing::Test {
 protected:
  Store()
      : root_(fs::temp_directory_path() /
              ("sluice-store-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(root_.path());
  }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(write_file_atomic(path, text));
  }
  void write_run(const Json& metrics = metrics_of(), const Json& eval = eval_of()) {
    write(run() / "metrics.json", dump_json(metrics));
    write(run() / "eval.json", dump_json(eval));
  }
  static std::string text(const fs::path& path) {
    const auto content = read_text_file(path);
    return content ? *content : "absent";
  }
  [[nodiscard]] fs::path run() const { return root_.path() / "run"; }
  [[nodiscard]] fs::path dir() const { return root_.path() / "baselines"; }
  [[nodiscard]] fs::path file(const char* end) const { return dir() / (key() + end); }
  static std::string key() { return "cpu_test." + workload_digest(run_of()); }
  [[nodiscard]] Promotion promotion() const {
    Promotion asked;
    asked.run = run();
    asked.dir = dir();
    asked.authority.branch = "main";
    asked.utc = "2026-02-01T00:00:00Z";
    return asked;
  }
  void expect_refused(const Promotion& asked, const char* why) {
    const auto done = promote(asked);
    ASSERT_FALSE(done) << why;
    EXPECT_THAT(done.error().message, HasSubstr(why));
    EXPECT_FALSE(fs::exists(file(".metrics.json")));
    EXPECT_FALSE(fs::exists(file(".history.jsonl")));
  }

  FolderGuard root_;
};

TEST_F(Store, PromotesBothFilesAndTheVisit) {  // COMP-11
  write_run();
  const auto done = promote(promotion());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->profile, "cpu_test");
  const auto baseline = read_baseline(dir(), key());
  ASSERT_TRUE(baseline) << baseline.error().message;
  EXPECT_EQ(text(file(".metrics.json")), dump_json(metrics_of()) + "\n");
  EXPECT_EQ(*baseline->files.eval, eval_of());
  ASSERT_EQ(baseline->history.size(), 1U);
  EXPECT_EQ(baseline->history[0].figures.at("tokens_per_sec_p50"), 10'000);
  EXPECT_EQ(baseline->history[0].figures.at("probe/code_sanity_20"), 0.85);
  EXPECT_EQ(baseline->history[0].canary->parts.at("gemm"), 100);
  EXPECT_EQ(baseline->history[0].commit, std::string(40, 'a'));
  EXPECT_EQ(compare_with_baseline(run_of(), baseline->files, {}).status, GateStatus::pass);
}

TEST_F(Store, AMachineHasABaselineForEachWork) {  // R002-19
  write_run();
  ASSERT_TRUE(promote(promotion()));
  Json other = metrics_of(500, 2);
  other["run_config"]["model"] = "vit5-tiny";
  other["run_config"]["per_device_batch_size"] = 64;
  write_run(other);
  const auto run = read_run_files(this->run());
  ASSERT_TRUE(run);
  // Without one of its own, the nearest is what the verdict names.
  auto found = baseline_for(dir(), *run);
  ASSERT_TRUE(found) << found.error().message;
  const GateReport report = compare_with_baseline(*run, found->files, {});
  EXPECT_EQ(report.status, GateStatus::skip);
  EXPECT_THAT(report.lines[0].reason, HasSubstr("per_device_batch_size (baseline '8', run '64')"));
  const auto done = promote(promotion());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NE(done->key, key());
  EXPECT_EQ(done->visits, 1U);
  found = baseline_for(dir(), *run);
  ASSERT_TRUE(found);
  EXPECT_EQ(compare_with_baseline(*run, found->files, {}).status, GateStatus::pass);
  found = baseline_for(dir(), run_of());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->files.metrics->throughput.tokens_p50.value, 10'000);
  const auto list = list_baselines(dir());
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2U);
  for (const BaselineInfo& info : *list) {
    EXPECT_EQ(info.profile, "cpu_test");
    EXPECT_THAT(info.work, HasSubstr(info.key == key() ? "batch 8" : "vit5-tiny, batch 64"));
  }
}

TEST_F(Store, ARunThatMixesOrErasesNeverReplacesOneThatDoesNot) {
  Json plain = metrics_of();  // of ours, from before what is off was told
  plain["run_config"]["model_shape"] = {{"dim", 192}};
  write(dir() / "cpu_test.01234567.metrics.json", dump_json(plain));
  write(dir() / "cpu_test.01234567.eval.json", dump_json(eval_of()));
  Json off = plain;
  off["throughput"]["tokens_per_sec_p50"] = 11'000;
  for (const char* key : {"mixup", "cutmix", "random_erasing"})
    off["run_config"][key] = 0.0;
  EXPECT_EQ(*key_of(dir(), run_of(off)), "cpu_test.01234567") << "it is still found";
  for (const char* key : {"mixup", "cutmix", "random_erasing"}) {
    SCOPED_TRACE(key);
    Json on = off;
    on["run_config"][key] = 0.5;
    EXPECT_EQ(compare_with_baseline(run_of(on), baseline_for(dir(), run_of(on))->files, {}).status,
              GateStatus::skip);
    write_run(on);
    const auto done = promote(promotion());
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_NE(done->key, "cpu_test.01234567");
    EXPECT_EQ(text(dir() / "cpu_test.01234567.metrics.json"), dump_json(plain));
  }
  write_run(off);
  const auto done = promote(promotion());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->key, "cpu_test.01234567");
  EXPECT_EQ(list_baselines(dir())->size(), 4U);
}

TEST_F(Store, ABaselineUnderTheNameOfTheMachineAloneIsReadAndContinued) {
  write(dir() / "cpu_test.metrics.json", dump_json(metrics_of(9'000)));
  write(dir() / "cpu_test.eval.json", dump_json(eval_of()));
  auto found = baseline_for(dir(), run_of());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->files.metrics->throughput.tokens_p50.value, 9'000);
  write_run();
  const auto done = promote(promotion());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->key, "cpu_test");
  EXPECT_FALSE(fs::exists(file(".metrics.json")));
  Json other = metrics_of();
  other["run_config"]["dtype"] = "bf16";
  EXPECT_EQ(*key_of(dir(), run_of(other)), "cpu_test." + workload_digest(run_of(other)));
  EXPECT_TRUE(baselines_of(dir(), "cpu_test"));
  write(dir() / "cpu_test.0123abcd.metrics.json", "{");
  EXPECT_THAT(baselines_of(dir(), "cpu_test").error().message, HasSubstr("0123abcd"));
  EXPECT_TRUE(baselines_of(dir(), "cpu_tes"));
}

TEST_F(Store, AnEvalAloneIsReadAndNotListed) {
  write(dir() / "cpu_test.eval.json", dump_json(eval_of(11)));
  RunFiles run = run_of();
  run.metrics.reset();
  const auto found = baseline_for(dir(), run);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->files.eval);
  EXPECT_EQ(at(*found->files.eval, "ppl_fixed_shard"), 11);
  EXPECT_TRUE(list_baselines(dir())->empty());
}

TEST_F(Store, PromotionsAtOnceAllStayInTheHistory) {
  constexpr int kAtOnce = 6;
  std::vector<Promotion> asked;
  for (int i = 0; i < kAtOnce; ++i) {
    asked.push_back(promotion());
    asked.back().run = root_.path() / ("run-" + std::to_string(i));
    write(asked.back().run / "metrics.json", dump_json(metrics_of(10'000 + i)));
    write(asked.back().run / "eval.json", dump_json(eval_of()));
  }
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (const Promotion& one : asked)
    threads.emplace_back([&failures, &one] { failures += promote(one) ? 0 : 1; });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  const auto baseline = read_baseline(dir(), key());
  ASSERT_TRUE(baseline) << baseline.error().message;
  EXPECT_EQ(baseline->history.size(), std::size_t{kAtOnce});
  EXPECT_FALSE(fs::exists(dir() / ".lock")) << "the folder may lie in a repository";
}

TEST_F(Store, WaitsForAnotherPromotionUntilCancelled) {
  write_run();
  fs::create_directories(dir());
  const auto other = lock_baselines(dir(), -1);
  ASSERT_TRUE(other);
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  ASSERT_EQ(::write(fds[1], "x", 1), 1);
  Promotion asked = promotion();
  asked.cancel_fd = fds[0];
  const auto done = promote(asked);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::interrupted);
  EXPECT_THAT(done.error().message, HasSubstr("while waiting for process "));
  EXPECT_FALSE(prune_history(dir(), key(), 1, fds[0]));
  EXPECT_FALSE(remove_baseline(dir(), key(), fds[0]));
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST_F(Store, OnlyOnMainOrByAMaintainerWithAReason) {
  write_run();
  Promotion asked = promotion();
  asked.authority.branch = "topic";
  expect_refused(asked, "branch 'main'");
  asked.authority.branch.reset();
  asked.authority.no_branch = "no branch is checked out";
  expect_refused(asked, "no branch is checked out");
  asked.authority.maintainer = true;
  expect_refused(asked, "--reason");
  asked.authority.reason = "first";
  ASSERT_TRUE(promote(asked));
  EXPECT_THAT(text(file(".history.jsonl")), HasSubstr("\"reason\":\"first\""));
}

TEST_F(Store, NeverFromARedInvalidOrHalfRun) {
  expect_refused(promotion(), "no such run folder");
  fs::create_directories(run());
  expect_refused(promotion(), "no metrics.json");
  write(run() / "metrics.json", dump_json(metrics_of()));
  expect_refused(promotion(), "no eval.json");
  write_run();
  for (const char* status : {"FAIL", "INVALID"}) {
    write(run() / "verdict.json", dump_json(Json{{"status", status}, {"lines", Json::array()}}));
    expect_refused(promotion(), status);
  }
  write(run() / "verdict.json", "{\"status\": ");
  expect_refused(promotion(), "verdict.json");
  fs::remove(run() / "verdict.json");
  Json metrics = metrics_of();
  metrics["throughput"]["tokens_per_sec_p50"] = nullptr;
  write_run(metrics);
  expect_refused(promotion(), "tokens_per_sec_p50");
  metrics["throughput"]["tokens_per_sec_p50"] = 0;
  write_run(metrics);
  expect_refused(promotion(), "not above 0");
  write_run(metrics_of(), eval_of(-1));
  expect_refused(promotion(), "ppl_fixed_shard");
  write_run(metrics_of(), eval_of(12, 1.2));
  expect_refused(promotion(), "basic_reasoning_25");
  Json other = eval_of();
  other["machine_profile"] = "elsewhere";
  write_run(metrics_of(), other);
  expect_refused(promotion(), "different machine profiles");
  metrics = metrics_of();
  metrics["machine_profile"] = "../../etc/passwd";
  other["machine_profile"] = "../../etc/passwd";
  write_run(metrics, other);
  expect_refused(promotion(), "letters, digits");
}

TEST_F(Store, ARunInDoubtNeedsAMaintainer) {
  const struct {
    const char* pointer;
    Json value;
    const char* said;
  } kCases[] = {
      {"/noise",
       {{"verdict", "noisy"}, {"findings", {{{"severity", "critical"}, {"value", "steal 9 %"}}}}},
       "its noise check says noisy (steal 9 %); usable or quiet is accepted"},
      {"/timing/run_p50_s",
       {0.3, 0.1, 0.112, 0.112, 0.2},
       "best run by 12.0 %; at most 10 % is accepted"},
      {"/timing/waited_share", 0.1, "waited for a core 10.0 %; at most 5 % is accepted"},
      {"/canary/passes_per_s",
       {{"gemm", 90.0}, {"idct", 180.0}},
       "slower than that of the stored baseline by 10.0 %; at most 5 % is accepted"},
  };
  write_run();
  ASSERT_TRUE(promote(promotion()));
  const std::string before = text(file(".metrics.json"));
  Promotion maintained = promotion();
  maintained.authority.maintainer = true;
  maintained.authority.reason = "no quieter machine";
  for (const auto& one : kCases) {
    Json metrics = metrics_of(11'000);
    metrics[Json::json_pointer(one.pointer)] = one.value;
    write_run(metrics);
    const auto refused = promote(promotion());
    ASSERT_FALSE(refused) << one.said;
    EXPECT_THAT(refused.error().message, HasSubstr(one.said));
    EXPECT_THAT(refused.error().message, HasSubstr("--maintainer"));
    EXPECT_EQ(text(file(".metrics.json")), before);
    fs::remove_all(root_.path() / "kept");
    fs::copy(dir(), root_.path() / "kept");
    const auto done = promote(maintained);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(done->doubts.size(), 1U);
    EXPECT_THAT(done->doubts[0], HasSubstr(one.said));
    EXPECT_THAT(text(file(".history.jsonl")), HasSubstr("\"doubts\":["));
    fs::remove_all(dir());
    fs::rename(root_.path() / "kept", dir());
  }
}

TEST_F(Store, ACalmRunIsInNoDoubt) {
  Json metrics = metrics_of();
  metrics["noise"] = {{"verdict", "usable"}, {"findings", Json::array()}};
  metrics["timing"]["waited_share"] = 0.05;
  metrics["timing"]["run_p50_s"] = {0.1, 0.105, 0.2, 0.3, 0.105};
  EXPECT_TRUE(doubts_about(run_of(metrics), {}).empty());
  metrics["canary"]["passes_per_s"] = {{"gemm", 96.0}, {"idct", 300.0}};
  EXPECT_TRUE(doubts_about(run_of(metrics), run_of()).empty());
}

TEST_F(Store, NeverARunThatWaitedForCoresTooLong) {
  Json metrics = metrics_of();
  metrics["timing"]["waited_share"] = 0.31;
  write_run(metrics);
  Promotion maintained = promotion();
  maintained.authority.maintainer = true;
  maintained.authority.reason = "first";
  expect_refused(maintained, "waited for a core 31.0 % of the time; at most 5 % is accepted");
  metrics["timing"]["waited_share"] = 0.2;
  write_run(metrics);
  EXPECT_TRUE(promote(maintained));
}

TEST_F(Store, NaNIsAnInvalidRunAndATruncatedFileABadOne) {
  write_run();
  write(run() / "metrics.json", "{\"throughput\": {\"tokens_per_sec_p50\": NaN}}");
  EXPECT_EQ(read_run_files(run()).error().code, Errc::measurement);
  write(run() / "metrics.json", "{\"throughput\": {\"tokens");
  EXPECT_EQ(read_run_files(run()).error().code, Errc::invalid_input);
  write(run() / "metrics.json", "[1, 2]");
  EXPECT_EQ(read_run_files(run()).error().code, Errc::invalid_input);
  expect_refused(promotion(), "metrics.json");
}

TEST_F(Store, AllOrNothing) {
  write_run();
  ASSERT_TRUE(promote(promotion()));
  const std::string metrics = text(file(".metrics.json"));
  const std::string eval = text(file(".eval.json"));
  fs::remove(file(".history.jsonl"));
  fs::create_directories(file(".history.jsonl"));  // the last of the three cannot be replaced
  write_run(metrics_of(11'000), eval_of(11));
  EXPECT_FALSE(promote(promotion()));
  EXPECT_EQ(text(file(".metrics.json")), metrics);
  EXPECT_EQ(text(file(".eval.json")), eval);

  fs::remove_all(dir());  // and with nothing there before
  fs::create_directories(file(".eval.json"));
  EXPECT_FALSE(promote(promotion()));
  EXPECT_FALSE(fs::exists(file(".metrics.json")));
  EXPECT_FALSE(fs::exists(file(".history.jsonl")));
}

TEST_F(Store, AFailureAtTheLastFileIsTakenBack) {
  write_run();
  ASSERT_TRUE(promote(promotion()));
  std::string history = text(file(".history.jsonl"));
  const std::string line = history;
  while (history.size() < 200'000)  // too long for the limit below, unlike the other two
    history += line;
  write(file(".history.jsonl"), history);
  const std::string metrics = text(file(".metrics.json"));
  const std::string eval = text(file(".eval.json"));
  write_run(metrics_of(11'000), eval_of(11));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto done = promote(promotion());
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(done);
  EXPECT_EQ(text(file(".metrics.json")), metrics);
  EXPECT_EQ(text(file(".eval.json")), eval);
  EXPECT_EQ(text(file(".history.jsonl")), history);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir()), fs::directory_iterator()), 3);
}

TEST_F(Store, HalfAPairIsNoticed) {
  write_run();
  ASSERT_TRUE(promote(promotion()));
  write(file(".eval.json"), dump_json(eval_of(9)));
  const auto baseline = read_baseline(dir(), key());
  ASSERT_FALSE(baseline);
  EXPECT_THAT(baseline.error().message, HasSubstr("promote a run again"));
}

TEST_F(Store, TheSameRunIsPromotedOnce) {
  write_run();
  ASSERT_TRUE(promote(promotion()));
  const auto again = promote(promotion());
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("already"));
}

TEST_F(Store, MetricsAloneOnlyWhenAsked) {
  write(run() / "metrics.json", dump_json(metrics_of()));
  Promotion asked = promotion();
  asked.without_eval = true;
  ASSERT_TRUE(promote(asked));
  EXPECT_FALSE(fs::exists(file(".eval.json")));
  write_run(metrics_of(11'000));
  EXPECT_FALSE(promote(asked));  // it has an eval.json
  ASSERT_TRUE(promote(promotion()));
  fs::remove(run() / "eval.json");
  write(run() / "metrics.json", dump_json(metrics_of(12'000)));
  const auto mixed = promote(asked);
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message, HasSubstr("another run"));
}

TEST_F(Store, ListPruneRemove) {
  EXPECT_TRUE(list_baselines(dir())->empty());
  for (const double speed : {10'000.0, 10'100.0, 10'200.0}) {
    write_run(metrics_of(speed));
    ASSERT_TRUE(promote(promotion()));
  }
  write(dir() / "broken.metrics.json", "{");
  const auto list = list_baselines(dir());
  ASSERT_EQ(list->size(), 2U);
  EXPECT_FALSE(list->at(0).problem.empty());
  EXPECT_EQ(list->at(1).visits, 3U);
  EXPECT_TRUE(list->at(1).has_eval);
  EXPECT_EQ(*prune_history(dir(), key(), 5), 0U);
  EXPECT_EQ(*prune_history(dir(), key(), 1), 2U);
  const auto rest = read_baseline(dir(), key());
  ASSERT_EQ(rest->history.size(), 1U);
  EXPECT_EQ(rest->history[0].figures.at("tokens_per_sec_p50"), 10'200);
  EXPECT_TRUE(remove_baseline(dir(), key()));
  EXPECT_EQ(remove_baseline(dir(), key()).error().code, Errc::not_found);
  EXPECT_FALSE(read_baseline(dir(), key())->files.metrics);
}

TEST_F(Store, ABrokenHistoryNamesItsLine) {
  write_run();
  ASSERT_TRUE(promote(promotion()));
  write(file(".history.jsonl"), text(file(".history.jsonl")) + "{\"figures\": {\"a\": 1");
  const auto baseline = read_baseline(dir(), key());
  ASSERT_FALSE(baseline);
  EXPECT_THAT(baseline.error().message, HasSubstr("history.jsonl"));
}

}  // namespace
}  // namespace sluice::gate::baseline_store_test
