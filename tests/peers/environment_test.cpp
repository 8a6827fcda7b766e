// tests/peers/environment_test.cpp - environments are made once, repaired when half made, and made
// again when their requirements change. Nothing real is installed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/environment.h"

#include "sluice/core/log.h"

#include <gmock/gmock.h>

#include "tests/peers/fake_python.h"
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <future>
#include <thread>

namespace sluice::peers::environment_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Environment : public FakePython {
 protected:
  Result<InstallReport> install(const InstallOptions& options = {}) {
    return install_environment(places(), "light", options);
  }
  [[nodiscard]] fs::path requirements() { return requirements_file(places(), "light"); }
};

/// Takes every log line of this process while alive.
class LogLines {
 public:
  LogLines() {
    log::attach_sink(this, [this](std::string_view line) { text_ += line; });
  }
  ~LogLines() { log::detach_sink(this); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

TEST_F(Environment, IsInstalledOnceAndFoundAgain) {
  EXPECT_THAT(find_environment(places(), "light").error().message,
              "environment 'light' is not installed");
  const auto first = install();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->fresh);
  EXPECT_EQ(first->environment.version_of("opencv-python-headless"), "4.10");
  EXPECT_EQ(first->environment.version_of("local"), "unknown");
  EXPECT_EQ(first->environment.lock_hash.size(), 64U);
  EXPECT_EQ(first->environment.folder.filename(), "light-" + first->environment.hash.substr(0, 12));

  const auto second = install();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(second->fresh);
  EXPECT_EQ(calls("-m venv"), 1);
  EXPECT_EQ(calls("-m pip"), 2);  // install and freeze, both of the first time

  const auto asked_before = calls("-c");
  const auto found = find_environment(places(), "light");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->lock_hash, first->environment.lock_hash);
  EXPECT_EQ(found->packages, first->environment.packages);
  EXPECT_EQ(calls("-c"), asked_before);
}

TEST_F(Environment, OtherRequirementsReplaceIt) {
  const auto first = install();
  ASSERT_TRUE(first);
  put(requirements(), "numpy==2.2.0\n");
  EXPECT_THAT(find_environment(places(), "light").error().message,
              "environment 'light' is out of date");
  const auto second = install();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->fresh);
  EXPECT_NE(second->environment.hash, first->environment.hash);
  EXPECT_FALSE(fs::exists(first->environment.folder));
  EXPECT_TRUE(find_environment(places(), "light"));
}

TEST_F(Environment, AnotherPythonReplacesIt) {
  const auto first = install();
  ASSERT_TRUE(first);
  put(root() / "version", "3.12.0");
  const auto second = install();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(second->environment.hash, first->environment.hash);
}

TEST_F(Environment, AnotherGroupIsLeftAlone) {
  ASSERT_TRUE(install());
  const auto torch = install_environment(places(), "torch", {});
  ASSERT_TRUE(torch) << torch.error().message;
  put(requirements(), "numpy==2.2.0\n");
  ASSERT_TRUE(install());
  EXPECT_TRUE(find_environment(places(), "torch"));
}

TEST_F(Environment, HalfInstalledIsRepaired) {
  const auto first = install();
  ASSERT_TRUE(first);
  const fs::path folder = first->environment.folder;
  fs::remove(folder / "sluice-environment.json");
  put(folder / "left-over", "");
  EXPECT_THAT(find_environment(places(), "light").error().message,
              "environment 'light' is only half installed");
  const LogLines lines;
  const auto second = install();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->fresh);
  EXPECT_FALSE(fs::exists(folder / "left-over"));
  EXPECT_THAT(lines.text(), HasSubstr("'light' is only half installed: it is removed"));
}

TEST_F(Environment, ADamagedMarkerIsHalfInstalled) {
  const auto first = install();
  ASSERT_TRUE(first);
  for (const char* damage :
       {"", "{", "[]", R"({"version": 1})", R"({"version": 2, "packages": {}})"}) {
    put(first->environment.folder / "sluice-environment.json", damage);
    EXPECT_FALSE(find_environment(places(), "light")) << damage;
  }
  const auto second = install();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->fresh);
}

TEST_F(Environment, APythonThatIsGoneIsHalfInstalled) {
  const auto first = install();
  ASSERT_TRUE(first);
  fs::remove(first->environment.python());
  EXPECT_FALSE(find_environment(places(), "light"));
  // The system's link now leads to another minor version.
  put_program(root() / "python3.12", "#!/bin/sh\n");
  fs::create_symlink(root() / "python3.12", first->environment.python());
  EXPECT_FALSE(find_environment(places(), "light"));
}

TEST_F(Environment, APipFailureNamesItsLastErrorAndTheLog) {
  put(root() / "broken", "Collecting numpy\nERROR: the wheel is cursed\nsome afterthought\n");
  const auto failed = install();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::io);
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("environment 'light': pip failed (exit code 1): ERROR: the wheel is "
                              "cursed; log: "),
                    HasSubstr(places().cache.string()), Not(HasSubstr("\n"))));
  const std::string log = failed.error().message.substr(failed.error().message.find("log: ") + 5);
  const auto written = read_text_file(log);
  ASSERT_TRUE(written);
  EXPECT_THAT(*written, HasSubstr("some afterthought"));
  EXPECT_FALSE(find_environment(places(), "light"));
  fs::remove(root() / "broken");
  const auto again = install();
  EXPECT_TRUE(again && again->fresh);
}

TEST_F(Environment, PipFailuresComeWithAdvice) {
  put(root() / "broken", "ERROR: [Errno 28] No space left on device\n");
  EXPECT_THAT(install().error().message, HasSubstr("SLUICE_CACHE_DIR"));
  put(root() / "broken",
      "WARNING: Retrying: Failed to establish a new connection: [Errno -3]\n"
      "ERROR: Could not find a version that satisfies the requirement numpy==2.1.0\n"
      "ERROR: No matching distribution found for numpy==2.1.0\n");
  EXPECT_THAT(install().error().message, AllOf(HasSubstr("cannot be reached: check the network"),
                                               HasSubstr("ERROR: No matching distribution found")));
  put(root() / "broken", "ERROR: No matching distribution found for numpy==2.1.0\n");
  EXPECT_THAT(install().error().message, HasSubstr("for this Python and processor"));
}

TEST_F(Environment, AMissingPythonIsSaid) {
  places().search_path = (root() / "empty").string();
  const auto missing = install();
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message,
              "python3: not found in PATH; run: apt-get install python3 python3-venv");
  places().python = "/no/such/python\n";
  EXPECT_THAT(
      install().error().message,
      AllOf(HasSubstr("SLUICE_PYTHON /no/such/python\\n: is no program"), Not(HasSubstr("\n"))));
}

TEST_F(Environment, APythonWithoutVenvIsSaid) {
  put(root() / "missing", "ensurepip");
  const auto missing = install();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::unsupported);
  EXPECT_THAT(missing.error().message, AllOf(HasSubstr("has no module 'ensurepip'"),
                                             HasSubstr("apt-get install python3-venv")));
}

TEST_F(Environment, AnOldOrBrokenPythonIsSaid) {
  put(root() / "version", "3.10.18");
  EXPECT_THAT(install().error().message, HasSubstr("is Python 3.10.18; 3.11 or newer is needed"));
  put(root() / "version", "garbage");
  EXPECT_THAT(install().error().message, HasSubstr("is no Python that works"));
}

TEST_F(Environment, TheSystemsPythonComesFirstAndANamedOneBeforeIt) {
  put_program(root() / "system", "#!/bin/sh\necho sluice-python 3.12.1 system\n");
  places().system_python = (root() / "system").string();
  const auto failed = install();  // it plays no venv, so nothing is made
  EXPECT_FALSE(failed);
  EXPECT_EQ(calls("-c"), 0);
  places().python = "python3";  // by name, as in a shell
  const auto named = install();
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->environment.python_version, "3.11.2");
}

TEST_F(Environment, OfTwoInstallsAtOnceOneWaits) {
  ASSERT_EQ(mkfifo((root() / "gate").c_str(), 0600), 0);
  const LogLines lines;
  auto first = std::async(std::launch::async, [this] { return install(); });
  auto second = std::async(std::launch::async, [this] { return install(); });
  // Opens when pip waits at the gate; two in there would need it opened twice.
  const int gate = open((root() / "gate").c_str(), O_WRONLY);
  ASSERT_GE(gate, 0);
  ASSERT_EQ(write(gate, "\n", 1), 1);
  close(gate);
  const auto one = first.get();
  const auto other = second.get();
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->fresh, other->fresh);
  EXPECT_EQ(calls("-m pip install"), 1);
}

TEST_F(Environment, AnInterruptLeavesWhatTheNextInstallRepairs) {
  ASSERT_EQ(mkfifo((root() / "gate").c_str(), 0600), 0);
  std::array<int, 2> cancel{};
  ASSERT_EQ(pipe(cancel.data()), 0);
  auto running = std::async(std::launch::async, [this, &cancel] {
    InstallOptions options;
    options.cancel_fd = cancel[0];
    return install(options);
  });
  const int gate = open((root() / "gate").c_str(), O_WRONLY);  // pip is there now
  ASSERT_EQ(write(cancel[1], "x", 1), 1);
  const auto interrupted = running.get();
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().code, Errc::interrupted);
  close(gate);
  close(cancel[0]);
  close(cancel[1]);
  fs::remove(root() / "gate");
  EXPECT_THAT(find_environment(places(), "light").error().message, HasSubstr("half installed"));
  const auto repaired = install();
  EXPECT_TRUE(repaired && repaired->fresh);
}

TEST_F(Environment, PipHasATimeLimit) {
  ASSERT_EQ(mkfifo((root() / "gate").c_str(), 0600), 0);
  InstallOptions options;
  options.pip_timeout_s = 0.05;
  const auto late = install(options);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::timeout);
  EXPECT_THAT(late.error().message,
              AllOf(HasSubstr("not finished within 0.05 s"), HasSubstr("log: ")));
}

TEST_F(Environment, PipSeesNeitherOurPythonPathNorAUserFolder) {
  setenv("PYTHONPATH", "/elsewhere", 1);  // NOLINT(concurrency-mt-unsafe)
  setenv("PIP_TARGET", "/elsewhere", 1);  // NOLINT(concurrency-mt-unsafe)
  const auto made = install();
  unsetenv("PYTHONPATH");  // NOLINT(concurrency-mt-unsafe)
  unsetenv("PIP_TARGET");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_TRUE(made) << made.error().message;
  const auto seen = read_text_file(root() / "pip-environment");
  ASSERT_TRUE(seen);
  EXPECT_THAT(*seen, AllOf(Not(HasSubstr("/elsewhere")), HasSubstr("PYTHONNOUSERSITE=1\n")));
}

TEST_F(Environment, UnknownGroupsAndMissingFilesAreErrors) {
  EXPECT_EQ(install_environment(places(), "../x", {}).error().code, Errc::usage);
  EXPECT_EQ(install_environment(places(), "dali", {}).error().code, Errc::not_found);
  places().adapters.clear();
  EXPECT_THAT(install().error().message, HasSubstr("SLUICE_ADAPTERS"));
}

}  // namespace
}  // namespace sluice::peers::environment_test
