// tests/measure/process_test.cpp - supervision of real processes: every way to misbehave costs one
// row and leaves nothing behind.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/measure/interrupt.h"
#include "sluice/measure/runner.h"
#include "sluice/measure/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.h"
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <set>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::measure::process_test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string worker_program() {
  return testing_support::build_dir() / "tests/measure/measure.test_worker";
}

std::size_t open_descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
    ++n;
  return n;
}

bool no_children() {
  return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

/// Waits until a process that is not our child has ended (a zombie counts); false after 20 s.
bool ended(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd waiting{fd, POLLIN, 0};
  const bool gone = poll(&waiting, 1, 20'000) == 1;
  close(fd);
  return gone;
}

class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest()
      : folder(fs::path(::testing::TempDir()) / ("process_test_" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    log::set_level(log::Level::off);
    policy.runs = 1;
    policy.samples_per_run = 1;
    policy.min_sample_ms = 5;
    policy.warmup_ms = 1;
    policy.warmup_limit_ms = 100;
    policy.slow_item_s = 0;
    context.clock = &clock;
    context.launcher = &launcher;
    context.progress = &Progress::silent();
    context.session_id = "s";
    context.log_dir = folder;
    unsetenv("SLUICE_INJECT_SLOWDOWN");
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // of the workers: takes seconds at every exit
    descriptors_before = open_descriptors();
  }
  ~ProcessTest() override {
    EXPECT_TRUE(no_children()) << "a worker was not reaped";
    EXPECT_EQ(open_descriptors(), descriptors_before);
    fs::remove_all(folder);
  }

  static SubjectSpec subject(const std::string& name) {
    SubjectSpec spec;
    spec.case_name = name;
    spec.library = "test";
    spec.command = {worker_program()};
    return spec;
  }
  WaveResult wave_of(const std::vector<SubjectSpec>& subjects) {
    auto wave = run_wave(subjects, policy, context);
    EXPECT_TRUE(wave) << (wave ? "" : wave.error().message);
    return wave ? std::move(*wave) : WaveResult{};
  }
  Row row_of(const std::string& name) {
    WaveResult wave = wave_of({subject(name)});
    return wave.rows.empty() ? Row{} : wave.rows[0];
  }
  [[nodiscard]] std::string log_text() const {
    const auto text = read_text_file(folder / "test.log");
    return text ? *text : "";
  }
  [[nodiscard]] pid_t grandchild() const {
    const std::string text = log_text();
    const std::size_t at = text.find("grandchild ");
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 11);
  }

  fs::path folder;
  SystemClock clock;
  ProcessLauncher launcher;
  Policy policy;
  RunnerContext context;
  std::size_t descriptors_before = 0;
};

TEST_F(ProcessTest, EveryMisbehaviourCostsOneRow) {
  struct Case {
    const char* name;
    const char* reason;
  };
  const std::vector<Case> cases{
      {"throws", "measure threw: out of pixels"},
      {"aborts", "measure: the worker killed by signal 6"},
      {"segfaults", "measure: the worker killed by signal 11"},
      {"exits", "measure: the worker exited with code 0"},
      {"garbage", "measure: the worker answered with something that is not a JSON object: this"},
      {"unheard-of", "test has no case 'unheard-of'"},
  };
  std::vector<SubjectSpec> subjects{subject("ok")};
  for (const Case& one : cases)
    subjects.push_back(subject(one.name));
  subjects.push_back(subject("broken"));
  subjects.back().command.emplace_back("--broken");
  subjects.push_back(subject("missing"));
  subjects.back().command = {(folder / "no-such-program").string()};
  subjects.push_back(subject("no-command"));
  subjects.back().command.clear();
  policy.runs = 2;
  const WaveResult wave = wave_of(subjects);
  ASSERT_EQ(wave.rows.size(), subjects.size());
  EXPECT_FALSE(wave.interrupted);
  const Row& good = wave.rows[0];
  EXPECT_EQ(good.status, RowStatus::ok) << good.reason;
  ASSERT_EQ(good.runs.size(), 2u);
  EXPECT_NE(good.runs[0].pid, good.runs[1].pid);
  EXPECT_GT(good.runs[0].samples_ns.at(0), 0);
  EXPECT_GT(good.runs[0].cpu_ns, 0);
  EXPECT_GT(good.peak_rss_bytes.value_or(0), 100'000);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Row& row = wave.rows[i + 1];
    const bool unknown = std::string(cases[i].name) == "unheard-of";
    EXPECT_EQ(row.status, unknown ? RowStatus::unsupported : RowStatus::failed) << cases[i].name;
    EXPECT_THAT(row.reason, HasSubstr(cases[i].reason));
    EXPECT_TRUE(row.runs.empty());
  }
  EXPECT_EQ(wave.rows[7].reason,
            "hello: the worker exited with code 3; last line of its log: cannot start");
  EXPECT_THAT(wave.rows[8].reason, HasSubstr("no-such-program: No such file or directory"));
  EXPECT_EQ(wave.rows[9].reason, "a worker without a command");
}

TEST_F(ProcessTest, AWorkerThatHangsOrTalksWithoutEndIsKilledAfterItsTime) {
  policy.step_timeout_s = 0.2;
  for (const char* name : {"hangs", "babbles"}) {
    const Row row = row_of(name);
    EXPECT_EQ(row.status, RowStatus::failed) << name;
    EXPECT_THAT(row.reason, HasSubstr("no answer within 0.2 s; killed")) << name;
  }
}

TEST_F(ProcessTest, WhatAWorkerPrintsLandsInItsLog) {
  EXPECT_EQ(row_of("prints").status, RowStatus::ok);
  EXPECT_THAT(log_text(), HasSubstr("words on stdout\n"));
  EXPECT_THAT(log_text(), HasSubstr("words on stderr\n"));
}

TEST_F(ProcessTest, LastWordsAreThoseOfThisWorker) {
  std::ofstream(folder / "test.log") << "words of an earlier worker\n";
  EXPECT_THAT(row_of("aborts").reason, ::testing::Not(HasSubstr("earlier")));
}

TEST_F(ProcessTest, NoLogFolderIsNoLog) {
  context.log_dir.clear();
  EXPECT_EQ(row_of("prints").status, RowStatus::ok);
}

TEST_F(ProcessTest, AGrandchildIsKilledWithItsGroup) {
  const Row row = row_of("grandchild");
  EXPECT_EQ(row.status, RowStatus::ok) << row.reason;
  ASSERT_GT(grandchild(), 0);
  EXPECT_TRUE(ended(grandchild()));
}

TEST_F(ProcessTest, AWorkerThatDiesIsNoticedThoughItsGrandchildHoldsTheChannel) {
  policy.step_timeout_s = 600;
  const Row row = row_of("orphan");
  EXPECT_EQ(row.status, RowStatus::failed);
  EXPECT_THAT(row.reason, HasSubstr("measure: the worker killed by signal 6"));
  ASSERT_GT(grandchild(), 0);
  EXPECT_TRUE(ended(grandchild()));
}

TEST_F(ProcessTest, EveryProcessHasAnotherEnvironmentSize) {
  policy.runs = 4;
  std::set<std::string> versions;
  context.on_block = [&](const std::vector<Row>& rows) -> Status {
    versions.insert(rows.at(0).library_version);
    return ok;
  };
  EXPECT_EQ(row_of("ok").status, RowStatus::ok);
  EXPECT_EQ(versions.size(), 4u);
}

TEST_F(ProcessTest, PinsToTheCoresOfThePolicy) {
  const CpuList allowed = allowed_cpus();
  EXPECT_THAT(row_of("ok").library_version, HasSubstr(" cpus " + to_string(allowed)));
  policy.cpus = {allowed.back()};
  EXPECT_THAT(row_of("ok").library_version, HasSubstr(" cpus " + to_string(policy.cpus)));
  EXPECT_EQ(allowed_cpus(), allowed) << "the harness itself is not pinned";
}

TEST_F(ProcessTest, CoresThatCannotBeHadFailTheRow) {
  policy.cpus = {1023};
  const Row row = row_of("ok");
  EXPECT_EQ(row.status, RowStatus::failed);
  EXPECT_THAT(row.reason, HasSubstr("the worker could not be pinned"));
}

TEST_F(ProcessTest, TwoBusyThreadsViolateAPolicyOfOne) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one core";
  policy.min_sample_ms = 20;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Row row = row_of("two-threads");
    ASSERT_EQ(row.runs.size(), 1u) << row.reason;
    const std::int64_t passes = row.items_per_sample / 2;
    EXPECT_GE(row.runs[0].cpu_ns, passes * 20'000'000) << "the time of both threads counts";
    if (row.status == RowStatus::failed) {
      EXPECT_THAT(row.reason, HasSubstr("thread policy violated"));
      return;
    }
    ASSERT_LE(row.thread_policy.cpu_per_wall,
              policy.single_thread_cpu_limit + spare_cores(row.runs));
  }
  GTEST_SKIP() << "the machine is too busy to run two threads at once";
}

TEST_F(ProcessTest, CpuTimeOfTheWorkerIsWhatThePolicyIsHeldAgainst) {
  policy.single_thread_cpu_limit = 1e-6;
  const Row row = row_of("ok");
  EXPECT_EQ(row.status, RowStatus::failed);
  EXPECT_THAT(row.reason, HasSubstr("thread policy violated"));
}

TEST_F(ProcessTest, CancelEndsTheWaveAndEveryWorker) {
  std::array<int, 2> cancel{-1, -1};
  ASSERT_EQ(pipe(cancel.data()), 0);
  context.cancel_fd = cancel[0];
  bool armed = false;
  context.interrupted = [&] {  // asked before every step: let the first worker start
    if (armed && write(cancel[1], "x", 1) != 1) ADD_FAILURE();
    armed = true;
    return false;
  };
  const WaveResult wave = wave_of({subject("ok"), subject("hangs")});
  EXPECT_TRUE(wave.interrupted);
  for (const Row& row : wave.rows) {
    EXPECT_EQ(row.status, RowStatus::skipped);
    EXPECT_TRUE(row.runs.empty());
  }
  close(cancel[0]);
  close(cancel[1]);
}

TEST_F(ProcessTest, ACancelledWorkerIsNotWaitedFor) {
  std::array<int, 2> cancel{-1, -1};
  ASSERT_EQ(pipe(cancel.data()), 0);
  LaunchOptions options;
  options.cancel_fd = cancel[0];
  options.command = {"/bin/sh", "-c",
                     "read -r bye <&3; sleep 1.5; : >" + (folder / "late").string()};
  const auto worker = launcher.launch(options);
  ASSERT_TRUE(worker);
  ASSERT_EQ(write(cancel[1], "x", 1), 1);
  (*worker)->finish();
  EXPECT_FALSE(fs::exists(folder / "late"));
  close(cancel[0]);
  close(cancel[1]);
}

TEST_F(ProcessTest, LaunchFailureLeavesNothingOpen) {
  LaunchOptions options;
  options.command = {worker_program()};
  options.log_file = folder / "missing" / "x.log";
  const auto worker = launcher.launch(options);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().code, Errc::io);
  EXPECT_THAT(worker.error().message, HasSubstr("x.log: No such file or directory"));
}

TEST_F(ProcessTest, PauseStopsAndResumeContinues) {
  LaunchOptions options;
  options.command = {worker_program()};
  auto launched = launcher.launch(options);
  ASSERT_TRUE(launched);
  Worker& worker = **launched;
  ASSERT_TRUE(worker.request(Json{{"type", "hello"}}, 60));
  const auto pid = static_cast<id_t>(worker.pid());
  worker.pause();
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, pid, &info, WSTOPPED), 0);
  EXPECT_EQ(info.si_code, CLD_STOPPED);
  worker.resume();
  ASSERT_EQ(waitid(P_PID, pid, &info, WCONTINUED), 0);
  EXPECT_EQ(info.si_code, CLD_CONTINUED);
  ASSERT_TRUE(worker.request(Json{{"type", "load"}}, 60));
  EXPECT_FALSE(worker.peak_rss_bytes());
  worker.pause();
  worker.finish();  // also a stopped one
  EXPECT_GT(worker.peak_rss_bytes().value_or(0), 0);
  worker.finish();
  worker.pause();
  worker.resume();
  const auto late = worker.request(Json{{"type", "hello"}}, 60);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("hello: the worker "));
}

TEST_F(ProcessTest, ByeIsARequestLikeAnyOther) {
  const fs::path heard = folder / "heard";
  LaunchOptions options;
  options.command = {
      "/bin/sh", "-c",
      "while read -r line <&3; do echo \"$line\" >>" + heard.string() +
          "; case $line in *'\"id\"'*) echo '{\"type\":\"bye\"}' >&4; exit 0;; esac; "
          "done"};
  auto worker = launcher.launch(options);
  ASSERT_TRUE(worker);
  (*worker)->finish();
  const auto text = read_text_file(heard);
  ASSERT_TRUE(text);
  EXPECT_EQ(Json::parse(*text), (Json{{"type", "bye"}, {"id", 1}}))
      << "a worker that refuses it is waited for until it is killed";
}

/// Starts a worker, tells its pid, and waits to be killed.
[[noreturn]] void be_supervisor(int report_fd, bool stopped) {
  ProcessLauncher launcher;
  LaunchOptions options;
  options.command = {worker_program()};
  auto worker = launcher.launch(options);
  if (worker && (*worker)->request(Json{{"type", "hello"}}, 60)) {
    if (stopped) (*worker)->pause();
    const std::int64_t pid = (*worker)->pid();
    const ssize_t written = write(report_fd, &pid, sizeof pid);
    (void)written;
  }
  while (true)
    pause();
}

TEST_F(ProcessTest, AWorkerDiesWithItsSupervisor) {
  for (const bool stopped : {false, true}) {
    std::array<int, 2> report{-1, -1};
    ASSERT_EQ(pipe(report.data()), 0);
    const pid_t supervisor = fork();
    if (supervisor == 0) be_supervisor(report[1], stopped);
    std::int64_t worker = 0;
    ASSERT_EQ(read(report[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
    EXPECT_EQ(kill(static_cast<pid_t>(worker), 0), 0);
    ASSERT_EQ(kill(supervisor, SIGKILL), 0);
    ASSERT_EQ(waitpid(supervisor, nullptr, 0), supervisor);
    EXPECT_TRUE(ended(static_cast<pid_t>(worker)));
    close(report[0]);
    close(report[1]);
  }
}

TEST(InterruptTest, RemembersTheFirstSignal) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    Interrupt interrupt;
    EXPECT_FALSE(interrupt.requested());
    pollfd waiting{interrupt.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 0), 0);
    raise(signal_number);
    EXPECT_TRUE(interrupt.requested());
    EXPECT_EQ(poll(&waiting, 1, 0), 1);
  }
}

TEST(InterruptTest, TheSecondSignalEndsTheProgram) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Interrupt interrupt;
        raise(SIGINT);
        raise(SIGINT);
        _exit(0);
      },
      ::testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace sluice::measure::process_test
