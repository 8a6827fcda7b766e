// tests/core/process_test.cpp - what a started program is given, and that nothing of it is left.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/process/process.h"

#include "sluice/core/file.h"
#include "sluice/core/process/child.h"
#include "sluice/core/process/survivors.h"
#include "sluice/core/utc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>

namespace sluice::process_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// All that the writers of `pipe` say until the last of them closes it.
std::string read_all(Pipe& pipe) {
  pipe.write_end.reset();
  std::string text;
  std::array<char, 256> buffer{};
  for (ssize_t got = 0; (got = read(pipe.read_end.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

ProcessOptions shell(const std::string& script) {
  return {.command = {"/bin/sh", "-c", script}};
}

TEST(Process, DescriptorsThatCrossArriveWhereTheyShould) {
  auto first = Pipe::make();
  auto second = Pipe::make();
  ProcessOptions options;
  // Each under the number that the other has here.
  const int a = second->write_end.get();
  const int b = first->write_end.get();
  options.environment = {{"A", std::to_string(a)}, {"B", std::to_string(b)}};
  options.command = {"/bin/bash", "-c", "echo first >&$A; echo second >&$B"};
  options.descriptors = {{first->write_end.get(), a}, {second->write_end.get(), b}};
  auto process = Process::start(options);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(read_all(*first), "first\n");
  EXPECT_EQ(read_all(*second), "second\n");
  EXPECT_TRUE(process->wait(60));
}

TEST(Process, WhatIsNotGivenIsNotThere) {
  auto out = Pipe::make();
  const Descriptor kept(fcntl(out->read_end.get(), F_DUPFD_CLOEXEC, 400));
  ProcessOptions options = shell("read line || echo none; test -e /proc/$$/fd/$KEPT && echo there");
  options.environment = {{"KEPT", std::to_string(kept.get())}};
  options.descriptors = {{out->write_end.get(), STDOUT_FILENO}};
  const auto process = Process::start(options);
  ASSERT_TRUE(process);
  EXPECT_EQ(read_all(*out), "none\n");
}

TEST(Process, AProgramThatCannotStartIsNamed) {
  const auto absent = Process::start({.command = {"/no/such/program"}});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::not_found);
  EXPECT_THAT(absent.error().message, HasSubstr("/no/such/program: No such file"));
  EXPECT_THAT(Process::start({.command = {"/bin"}}).error().message, HasSubstr("denied"));
  ProcessOptions lost = shell("true");
  lost.folder = "/no/such/folder";
  EXPECT_THAT(Process::start(lost).error().message, HasSubstr("/no/such/folder"));
  ProcessOptions refused = shell("true");
  refused.before_exec = [] { return "no core to be had"; };
  EXPECT_EQ(Process::start(refused).error().message, "no core to be had");
}

TEST(Process, TheWholeGroupEndsWithItsLeader) {
  auto out = Pipe::make();
  ProcessOptions options = shell("sleep 600 & exit 3");
  options.descriptors = {{out->write_end.get(), STDOUT_FILENO}};
  auto process = Process::start(options);
  ASSERT_TRUE(process);
  EXPECT_TRUE(process->wait(60));
  EXPECT_EQ(process->end()->exit_code(), 3);
  EXPECT_EQ(process->end()->text(), "exited with code 3");
  EXPECT_EQ(read_all(*out), "");  // comes back: the sleeper holds the pipe no more
}

// In its group or out of it, with our variable or after a double fork.
TEST(Process, WhatItLeavesIsKilledAndNamed) {
  for (const char* script :
       {"sleep 600 & exit 0", "setsid sleep 600 & exit 0", "(setsid sleep 600 &) & wait; exit 0",
        "setsid sh -c 'sleep 600 & sleep 600' & exit 0"}) {
    auto out = Pipe::make();
    ProcessOptions options = shell(script);
    options.descriptors = {{out->write_end.get(), STDOUT_FILENO}};
    auto process = Process::start(options);
    ASSERT_TRUE(process);
    EXPECT_TRUE(process->wait(60));
    EXPECT_THAT(process->end()->survivors, Not(::testing::IsEmpty())) << script;
    EXPECT_EQ(read_all(*out), "") << script;  // comes back: nobody holds the pipe
  }
}

// While a process calls exec its environment cannot be read, and this one does little else.
TEST(Process, WhatIsInExecIsFound) {
  const testing_support::TemporaryFolder folder;
  const auto script = folder.path() / "again";
  ASSERT_TRUE(write_file_atomic(script, "#!/bin/sh\n[ $# = 1 ] || echo up\nexec \"$0\" again\n"));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  for (int i = 0; i < 100; ++i) {
    auto out = Pipe::make();
    auto in = Pipe::make();
    ProcessOptions options = shell("setsid " + script.string() + " & read line <&5; exit 0");
    options.descriptors = {{out->write_end.get(), STDOUT_FILENO}, {in->read_end.get(), 5}};
    auto process = Process::start(options);
    ASSERT_TRUE(process);
    std::array<char, 3> up{};
    ASSERT_EQ(read(out->read_end.get(), up.data(), up.size()), 3);
    in->write_end.reset();  // lets the leader end
    EXPECT_TRUE(process->wait(60));
    ASSERT_THAT(process->end()->survivors, Not(::testing::IsEmpty())) << "time " << i;
    EXPECT_EQ(read_all(*out), "");
  }
}

TEST(Process, WhatEndsWithinTheGraceBelongsToIt) {
  auto out = Pipe::make();
  ProcessOptions options = shell("{ read line; exit 0; } <&5 & exit 0");
  options.descriptors = {{out->read_end.get(), 5}};
  options.grace_s = 60;
  auto process = Process::start(options);
  ASSERT_TRUE(process);
  out->write_end.reset();  // lets the child go
  EXPECT_TRUE(process->wait(60));
  EXPECT_THAT(process->end()->survivors, ::testing::IsEmpty());
}

TEST(Process, OneThatEndsTakesNothingOfAnother) {
  auto out = Pipe::make();
  ProcessOptions options =
      shell("(setsid sh -c 'read line <&5; echo still here' &) & wait; read line <&5");
  auto in = Pipe::make();
  options.descriptors = {{out->write_end.get(), STDOUT_FILENO}, {in->read_end.get(), 5}};
  auto other = Process::start(options);
  ASSERT_TRUE(other);
  auto first = Process::start(shell("exit 0"));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->wait(60));
  EXPECT_THAT(first->end()->survivors, ::testing::IsEmpty());
  EXPECT_FALSE(other->wait(0));
}

TEST(Survivors, AncestorsAreFound) {
  auto process = Process::start(shell("sleep 600 & wait"));
  ASSERT_TRUE(process);
  EXPECT_TRUE(descends_from(process->pid(), getpid()));
  EXPECT_TRUE(is_running(process->pid()));
  EXPECT_FALSE(descends_from(getpid(), process->pid()));
  EXPECT_FALSE(descends_from(1, getpid()));
  const pid_t pid = process->pid();
  process->kill();
  EXPECT_FALSE(is_running(pid));
}

TEST(Process, KilledWithTheObject) {
  auto out = Pipe::make();
  ProcessOptions options = shell("exec sleep 600");
  options.descriptors = {{out->write_end.get(), STDOUT_FILENO}};
  {
    auto process = Process::start(options);
    ASSERT_TRUE(process);
    EXPECT_FALSE(process->wait(0));
    const Process moved = std::move(*process);
    EXPECT_GT(moved.pid(), 0);
  }
  EXPECT_EQ(read_all(*out), "");
  auto process = Process::start(shell("exec sleep 600"));
  process->signal(SIGTERM);
  EXPECT_TRUE(process->wait(60));
  EXPECT_EQ(process->end()->exit_code(), 128 + SIGTERM);
  EXPECT_THAT(process->end()->text(), HasSubstr("signal 15"));
}

TEST(RunChild, FolderVariablesAndBothOutputs) {
  const testing_support::TemporaryFolder folder;
  ChildOptions options;
  options.command = {"/bin/sh", "-c", "pwd; echo ${HOME-unset} $X >&2; exit 4"};
  options.environment = {{"HOME", std::nullopt}, {"X", "here"}};
  options.folder = folder.path();
  options.stdout_apart = true;
  const auto done = run_child(options);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->status, 4);
  EXPECT_THAT(done->printed, HasSubstr(folder.path().filename().string()));
  EXPECT_EQ(done->output, "unset here\n");
}

TEST(FindCommand, PathsAndNames) {
  EXPECT_EQ(*find_command("sh", "/nowhere::/bin"), "/bin/sh");
  EXPECT_EQ(*find_command("/bin/sh", ""), "/bin/sh");
  for (const char* word : {"no-such-program", "/no/such", "/bin", ""})
    EXPECT_FALSE(find_command(word, "/bin:/usr/bin")) << word;
}

TEST(Utc, StampsAndNames) {
  EXPECT_EQ(utc_text(951'782'399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(utc_text(951'782'400, kUtcName), "20000229T000000Z");
  EXPECT_EQ(utc_now().size(), 20U);
}

}  // namespace
}  // namespace sluice::process_test
