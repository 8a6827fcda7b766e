// tests/measure/server_test.cpp - the worker's side of the protocol, in a thread, over a socket
// pair.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measure/support.h"
#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace sluice::measure::server_test {
namespace {

using ::testing::HasSubstr;

/// Throws in the call that `stage` names.
class ThrowingSubject final : public Subject {
 public:
  explicit ThrowingSubject(std::string stage) : stage_(std::move(stage)) {}
  Result<std::string> check() override {
    if (stage_ == "check") throw std::runtime_error("check went\nwrong");
    if (stage_ == "check-error") return Error{Errc::measurement, "pixel 3 is 7; expected 8"};
    return std::string("d");
  }
  void run_pass() override {
    if (stage_ == "pass") throw 42;
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    if (stage_ == "items") throw std::runtime_error("no items");
    return 1;
  }
  [[nodiscard]] double bytes_per_item() const override { return 0; }

 private:
  std::string stage_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    std::signal(SIGPIPE, SIG_IGN);
    unsetenv("SLUICE_INJECT_SLOWDOWN");
    catalogue_.library = "testlib";
    catalogue_.version = "1.2";
    catalogue_.scenarios["work"] = [this](const SubjectContext& context) {
      seen = context;
      return Result<std::unique_ptr<Subject>>(
          std::make_unique<ScriptedSubject>(clock_, std::vector<std::int64_t>{1'000'000}));
    };
    catalogue_.scenarios["throws"] =
        [](const SubjectContext& context) -> Result<std::unique_ptr<Subject>> {
      const std::string stage = context.params.at("stage");
      if (stage == "factory") throw std::runtime_error("factory threw");
      if (stage == "nothing") return std::unique_ptr<Subject>();
      if (stage == "unsupported") return Error{Errc::unsupported, "needs a GPU"};
      return std::unique_ptr<Subject>(std::make_unique<ThrowingSubject>(stage));
    };
    std::array<int, 2> fds{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
    client_.emplace(fds[0], fds[0]);
    raw_ = fds[0];
    thread_ = std::thread([this, fd = fds[1]] {
      LineChannel channel(fd, fd);
      served = serve(channel, catalogue_, clock_).has_value();
    });
  }
  ~ServerTest() override { end(); }

  void end() {
    client_.reset();  // hangs up
    if (thread_.joinable()) thread_.join();
  }

  Json ask(const Json& request) {
    EXPECT_TRUE(client_->send(request));
    auto reply = client_->receive(30);
    EXPECT_TRUE(reply);
    return reply ? *reply : Json::object();
  }
  Json ask(const char* type) { return ask(Json{{"type", type}}); }
  std::string refusal(const Json& request) {
    const Json reply = ask(request);
    EXPECT_EQ(reply.value("type", ""), "error") << reply.dump();
    EXPECT_EQ(reply.value("code", ""), "failed") << reply.dump();
    return reply.value("reason", "");
  }
  void prepare(const std::string& name = "work") {
    ASSERT_EQ(ask(Json{{"type", "prepare"}, {"case", name}}).at("type"), "prepare");
  }

  ManualClock clock_;
  Catalogue catalogue_;
  SubjectContext seen;
  std::optional<LineChannel> client_;
  int raw_ = -1;
  bool served = false;
  std::thread thread_;
};

TEST_F(ServerTest, WholeConversation) {
  EXPECT_EQ(ask(Json{{"type", "hello"}, {"protocol", 1}, {"id", 1}}),
            Json::parse(R"({"protocol":1,"name":"testlib","version":"1.2",
                            "cases":["throws","work"],"type":"hello","id":1})"));
  EXPECT_EQ(ask(Json{{"type", "configure"}, {"threads", 2}, {"device", "cpu"}, {"seed", 9}}),
            Json::parse(R"({"threads":2,"type":"configure"})"));
  EXPECT_EQ(ask(Json{{"type", "load"}, {"data_dir", "some/where"}}).at("type"), "load");
  EXPECT_EQ(ask(Json{{"type", "prepare"}, {"case", "work/size=8/threads=2"}}),
            Json::parse(R"({"items_per_pass":4,"bytes_per_item":3.5,"type":"prepare"})"));
  EXPECT_EQ(ask("check"), Json::parse(R"({"digest":"d1","type":"check"})"));
  EXPECT_EQ(ask("preflight"), Json::parse(R"({"pass_ns":1000000,"type":"preflight"})"));
  const Json measured = ask(Json{{"type", "measure"},
                                 {"case", "work/size=8/threads=2"},
                                 {"passes", 3},
                                 {"warmup_ms", 5},
                                 {"warmup_limit_ms", 100}});
  EXPECT_EQ(measured.at("samples_ns"), Json::array({3'000'000}));
  EXPECT_EQ(measured.at("items_per_sample"), 12);
  EXPECT_EQ(measured.at("warmup_passes"), 5);
  EXPECT_GT(measured.at("start_ns"), 0);
  EXPECT_GE(measured.at("cpu_ns"), 0);
  EXPECT_GE(measured.at("major_faults"), 0);
  EXPECT_GE(measured.at("involuntary_switches"), 0);
  EXPECT_TRUE(measured.at("throttled").is_boolean());
  EXPECT_NE(measured.contains("counters"), measured.contains("counters_reason"));
  const Json several = ask(Json{{"type", "measure"},
                                {"passes", 1},
                                {"samples", 3},
                                {"warmup_ms", 0},
                                {"warmup_limit_ms", 0}});
  EXPECT_EQ(several.at("samples_ns"), Json::array({1'000'000, 1'000'000, 1'000'000}));
  EXPECT_EQ(several.at("items_per_sample"), 4);
  EXPECT_EQ(ask("cancel").at("cancelled"), false);
  EXPECT_EQ(ask(Json{{"type", "release"}, {"case", "work/size=8/threads=2"}}).at("type"),
            "release");
  EXPECT_EQ(ask(Json{{"type", "bye"}, {"id", 12}}), Json::parse(R"({"type":"bye","id":12})"));
  thread_.join();
  EXPECT_TRUE(served);
  EXPECT_EQ(seen.threads, 2);
  EXPECT_EQ(seen.seed, 9u);
  EXPECT_EQ(seen.data_dir, "some/where");
  EXPECT_EQ(seen.params, (std::map<std::string, std::string>{{"size", "8"}, {"threads", "2"}}));
}

TEST_F(ServerTest, UnknownMessageIsUnsupportedAndTheWorkerGoesOn) {
  for (const Json& request : {Json{{"type", "dance"}}, Json{{"type", 5}}, Json::object()}) {
    const Json reply = ask(request);
    EXPECT_EQ(reply.at("type"), "error");
    EXPECT_EQ(reply.at("code"), "unsupported");
    EXPECT_THAT(reply.at("reason").get<std::string>(), HasSubstr("unknown message"));
  }
  EXPECT_EQ(ask("hello").at("type"), "hello");
}

TEST_F(ServerTest, IdIsEchoedWhateverItIs) {
  for (const Json& id : {Json(1), Json(18446744073709551615u), Json("a"), Json(nullptr)}) {
    EXPECT_EQ(ask(Json{{"type", "load"}, {"id", id}}).at("id"), id);
    EXPECT_EQ(ask(Json{{"type", "dance"}, {"id", id}}).at("id"), id);
  }
  EXPECT_FALSE(ask("load").contains("id"));
}

TEST_F(ServerTest, UnknownFieldsAreIgnored) {
  EXPECT_EQ(ask(Json{{"type", "configure"}, {"threads", 1}, {"turbo", true}}).at("threads"), 1);
}

TEST_F(ServerTest, GarbageIsAnsweredAndTheWorkerGoesOn) {
  ASSERT_EQ(write(raw_, "garbage\n", 8), 8);
  const auto reply = client_->receive(30);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->at("type"), "error");
  EXPECT_THAT(reply->at("reason").get<std::string>(), HasSubstr("garbage"));
  EXPECT_EQ(ask("hello").at("type"), "hello");
}

TEST_F(ServerTest, ALineThatIsTooLongIsAnsweredOnce) {
  const std::string chunk(1 << 20, 'x');
  for (int i = 0; i < 18; ++i) {
    for (std::size_t sent = 0; sent < chunk.size();) {
      const ssize_t n = write(raw_, chunk.data() + sent, chunk.size() - sent);
      ASSERT_GT(n, 0);
      sent += static_cast<std::size_t>(n);
    }
  }
  ASSERT_EQ(write(raw_, "\n", 1), 1);
  EXPECT_EQ(client_->receive(30)->at("type"), "error");
  EXPECT_EQ(ask("hello").at("type"), "hello");
}

TEST_F(ServerTest, WrongFieldsAreRefusedAndNameTheField) {
  for (const Json& threads : {Json(0), Json(-1), Json(1025), Json(1.5), Json("2"), Json(true),
                              Json(4294967297), Json::array()}) {
    EXPECT_THAT(refusal(Json{{"type", "configure"}, {"threads", threads}}), HasSubstr("threads"))
        << threads;
  }
  refusal(Json{{"type", "configure"}, {"seed", "x"}});
  refusal(Json{{"type", "load"}, {"data_dir", 5}});
  refusal(Json{{"type", "prepare"}, {"case", Json::array()}});
  prepare();
  ask("check");
  refusal(Json{{"type", "preflight"}, {"slow_item_s", "x"}});
  for (const Json& passes : {Json(0), Json(-5), Json("1"), Json(1e300), Json(0.5)}) {
    EXPECT_THAT(refusal(Json{{"type", "measure"}, {"passes", passes}}), HasSubstr("passes"));
  }
  EXPECT_THAT(refusal(Json{{"type", "measure"}, {"warmup_ms", "x"}}), HasSubstr("measure"));
  const Json absurd{{"type", "measure"}, {"warmup_ms", -1e300}, {"warmup_limit_ms", 1e300}};
  EXPECT_EQ(ask(absurd).at("type"), "measure");
}

TEST_F(ServerTest, NothingIsTimedBeforeItsOutputWasChecked) {
  for (const char* type : {"check", "preflight", "measure"})
    EXPECT_THAT(refusal(Json{{"type", type}}), HasSubstr("no case is prepared"));
  prepare();
  EXPECT_THAT(refusal(Json{{"type", "measure"}}), HasSubstr("not checked"));
  ask("check");
  EXPECT_EQ(ask("measure").at("type"), "measure");
  prepare("work/size=8");
  EXPECT_THAT(refusal(Json{{"type", "measure"}}), HasSubstr("not checked")) << "another case";
  ask("check");
  ask("release");
  EXPECT_THAT(refusal(Json{{"type", "measure"}}), HasSubstr("no case is prepared"));
}

TEST_F(ServerTest, OnlyThePreparedCaseIsMeasured) {
  prepare("work/size=8");
  ask("check");
  EXPECT_THAT(refusal(Json{{"type", "measure"}, {"case", "work/size=9"}}),
              HasSubstr("'work/size=8' is prepared"));
}

TEST_F(ServerTest, CasesItDoesNotHaveAreUnsupported) {
  for (const char* name : {"nothing", "", "work2", "work2/size=1"}) {
    const Json reply = ask(Json{{"type", "prepare"}, {"case", name}});
    EXPECT_EQ(reply.at("code"), "unsupported") << name;
    EXPECT_THAT(reply.at("reason").get<std::string>(), HasSubstr("testlib has no case"));
  }
  const Json reply = ask(Json{{"type", "prepare"}, {"case", "throws/stage=unsupported"}});
  EXPECT_EQ(reply.at("code"), "unsupported");
  EXPECT_EQ(reply.at("reason"), "needs a GPU");
}

TEST_F(ServerTest, ASubjectMayThrowAtEveryStage) {
  EXPECT_THAT(refusal(Json{{"type", "prepare"}, {"case", "throws/stage=factory"}}),
              HasSubstr("prepare threw: factory threw"));
  EXPECT_THAT(refusal(Json{{"type", "check"}}), HasSubstr("no case is prepared"));
  EXPECT_THAT(refusal(Json{{"type", "prepare"}, {"case", "throws/stage=nothing"}}),
              HasSubstr("made no subject"));
  EXPECT_THAT(refusal(Json{{"type", "prepare"}, {"case", "throws/stage=items"}}),
              HasSubstr("no items"));
  prepare("throws/stage=check");
  EXPECT_THAT(refusal(Json{{"type", "check"}}), HasSubstr("check threw: check went"));
  EXPECT_THAT(refusal(Json{{"type", "measure"}}), HasSubstr("not checked"));
  prepare("throws/stage=check-error");
  EXPECT_EQ(refusal(Json{{"type", "check"}}), "pixel 3 is 7; expected 8");
  EXPECT_THAT(refusal(Json{{"type", "measure"}}), HasSubstr("not checked"));
  prepare("throws/stage=pass");
  ask("check");
  EXPECT_THAT(refusal(Json{{"type", "preflight"}}), HasSubstr("no std::exception"));
  EXPECT_THAT(refusal(Json{{"type", "measure"}}), HasSubstr("measure threw"));
  prepare();
  EXPECT_EQ(ask("check").at("type"), "check") << "the worker goes on";
}

TEST_F(ServerTest, PreflightStopsAtTheSlowLimitPerItem) {
  prepare();
  const std::int64_t before = clock_.now_ns();
  const Json reply = ask(Json{{"type", "preflight"}, {"slow_item_s", 0.00025}});
  EXPECT_EQ(reply.at("pass_ns"), 1'000'000);  // 4 items at 0.25 ms: exactly the limit
  EXPECT_EQ(clock_.now_ns() - before, 1'000'000) << "one pass was enough";
}

TEST_F(ServerTest, HangingUpEndsTheServerWithoutAnError) {
  ask("hello");
  end();
  EXPECT_TRUE(served);
}

TEST(PeerDescriptorsTest, SayHowAWorkerIsMeantToBeStarted) {
  for (const char* text : {"", "x", "3x", "-1", "99999999999"}) {
    setenv(kPeerInVariable, text, 1);
    setenv(kPeerOutVariable, "4", 1);
    const auto descriptors = peer_descriptors();
    ASSERT_FALSE(descriptors) << text;
    EXPECT_THAT(descriptors.error().message, HasSubstr("SLUICE_PEER_IN"));
    EXPECT_THAT(descriptors.error().message, HasSubstr("docs/peer-protocol.md"));
  }
  setenv(kPeerInVariable, "3", 1);
  EXPECT_EQ(*peer_descriptors(), std::make_pair(3, 4));
  unsetenv(kPeerOutVariable);
  EXPECT_FALSE(peer_descriptors());
  unsetenv(kPeerInVariable);
}

TEST_F(ServerTest, SlowdownHookIsReadAndAWrongValueIsRefused) {
  setenv("SLUICE_INJECT_SLOWDOWN", "15", 1);
  EXPECT_THAT(refusal(Json{{"type", "prepare"}, {"case", "work"}}),
              HasSubstr("SLUICE_INJECT_SLOWDOWN=15"));
  setenv("SLUICE_INJECT_SLOWDOWN", "work/size=8=50%", 1);
  clock_.tick_ns = 1;
  prepare("work/size=8");
  ask("check");
  EXPECT_GE(ask("measure").at("samples_ns").at(0), 1'500'000);
  prepare("work");
  ask("check");
  EXPECT_LT(ask("measure").at("samples_ns").at(0), 1'100'000);
  unsetenv("SLUICE_INJECT_SLOWDOWN");
}

}  // namespace
}  // namespace sluice::measure::server_test
