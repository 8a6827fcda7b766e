// tests/measure/peer_protocol_test.cpp - docs/peer-protocol.md is true: its worker is measured, its
// conversation is what our own server would say.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/measure/runner.h"
#include "sluice/measure/worker/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measure/support.h"
#include "tests/places.h"
#include <array>
#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace sluice::measure::peer_protocol_test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string page() {
  const auto text = read_text_file(testing_support::source_dir() / "docs/peer-protocol.md");
  EXPECT_TRUE(text) << (text ? "" : text.error().message);
  return text ? *text : "";
}

/// The text between the first ```python and its end.
std::string python_worker() {
  const std::string text = page();
  const std::string fence = "```python\n";
  const std::size_t start = text.find(fence);
  EXPECT_NE(start, std::string::npos);
  const std::size_t end = text.find("```\n", start + fence.size());
  EXPECT_NE(end, std::string::npos);
  return text.substr(start + fence.size(), end - start - fence.size());
}

std::vector<Json> lines_after(const std::string& arrow) {
  std::vector<Json> messages;
  for (const std::string& line : split(page(), '\n')) {
    if (line.rfind(arrow + " {", 0) == 0)
      messages.push_back(Json::parse(line.substr(arrow.size() + 1)));
  }
  return messages;
}

TEST(PeerProtocolTest, TheWorkerOfThePageIsMeasured) {
  log::set_level(log::Level::off);
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("peer_protocol_test_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path program = folder / "worker.py";
  std::ofstream(program) << python_worker();

  SystemClock clock;
  ProcessLauncher launcher;
  RunnerContext context;
  context.clock = &clock;
  context.launcher = &launcher;
  context.progress = &Progress::silent();
  context.session_id = "s";
  context.log_dir = folder;
  Policy policy;
  policy.runs = 2;
  policy.min_sample_ms = 5;
  policy.warmup_ms = 1;
  policy.slow_item_s = 0;
  policy.single_thread_cpu_limit = 2;  // about speed nothing is claimed here
  std::vector<SubjectSpec> subjects(3);
  subjects[0].case_name = "sha256/size=4096";
  subjects[1].case_name = "sha256/size=large";
  subjects[2].case_name = "resize";
  for (SubjectSpec& spec : subjects) {
    spec.library = "hashlib";
    spec.command = {testing_support::python(), "-B", program.string()};
  }
  const auto wave = run_wave(subjects, policy, context);
  ASSERT_TRUE(wave) << wave.error().message;
  const auto log = read_text_file(folder / "hashlib.log");
  const Row& row = wave->rows[0];
  EXPECT_EQ(row.status, RowStatus::ok) << row.reason << (log ? *log : "");
  EXPECT_EQ(row.runs.size(), 2u);
  EXPECT_EQ(row.output_digest.size(), 64u);
  EXPECT_EQ(row.items_per_sample % 16, 0);
  EXPECT_GT(row.runs.at(0).cpu_ns, 0);
  EXPECT_THAT(row.library_version, HasSubstr("3."));
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(wave->rows[i].status, RowStatus::unsupported);
    EXPECT_THAT(wave->rows[i].reason, HasSubstr("hashlib has no case"));
  }
  fs::remove_all(folder);
}

TEST(PeerProtocolTest, OurServerAnswersTheConversationOfThePageAlike) {
  const std::vector<Json> requests = lines_after("→");
  const std::vector<Json> replies = lines_after("←");
  ASSERT_EQ(requests.size(), replies.size());
  ASSERT_GE(requests.size(), 9u);
  ManualClock clock;
  Catalogue catalogue;
  catalogue.library = "hashlib";
  catalogue.scenarios["sha256"] = [&](const SubjectContext&) {
    return Result<std::unique_ptr<Subject>>(
        std::make_unique<ScriptedSubject>(clock, std::vector<std::int64_t>{50'000}));
  };
  std::array<int, 2> fds{-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
  std::thread server([&] {
    LineChannel channel(fds[1], fds[1]);
    EXPECT_TRUE(serve(channel, catalogue, clock));
  });
  {
    LineChannel client(fds[0], fds[0]);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_TRUE(client.send(requests[i]));
      const auto reply = client.receive(60);
      EXPECT_TRUE(reply);
      if (!reply) break;
      for (const auto& [key, value] : replies[i].items()) {
        const Json field = reply->value(key, Json());  // null, hence of another type, when missing
        EXPECT_TRUE(field.type() == value.type() || (field.is_number() && value.is_number()))
            << key;
      }
      EXPECT_EQ(reply->at("type"), replies[i].at("type"));
      EXPECT_EQ(reply->at("id"), requests[i].at("id"));
    }
  }
  server.join();
}

TEST(PeerProtocolTest, ThePageNamesEveryMessageAndVariable) {
  const std::string text = page();
  for (const char* word : {"hello",
                           "configure",
                           "load",
                           "prepare",
                           "check",
                           "preflight",
                           "measure",
                           "release",
                           "cancel",
                           "bye",
                           "`protocol`",
                           "`threads`",
                           "`items_per_pass`",
                           "`bytes_per_item`",
                           "`digest`",
                           "`pass_ns`",
                           "`start_ns`",
                           "`samples_ns`",
                           "`items_per_sample`",
                           "`cpu_ns`",
                           "`warmup_passes`",
                           "`throttled`",
                           "`counters`",
                           "`counters_reason`",
                           "`data_dir`",
                           "SLUICE_PEER_IN",
                           "SLUICE_PEER_OUT",
                           "SLUICE_PADDING",
                           "SLUICE_INJECT_SLOWDOWN"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

}  // namespace
}  // namespace sluice::measure::peer_protocol_test
