// tests/measure/channel_test.cpp - framing, limits and deadlines of LineChannel over socket pairs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/protocol.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace sluice::measure::channel_test {
namespace {

/// A channel and the raw descriptor at its other end.
class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() {
    std::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_.data()), 0);
    channel.emplace(fds_[0], fds_[0]);
  }
  ~ChannelTest() override { hang_up(); }

  void put(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = write(fds_[1], text.data(), text.size());
      ASSERT_GT(n, 0);
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void hang_up() {
    if (fds_[1] >= 0) close(fds_[1]);
    fds_[1] = -1;
  }
  Errc failure(double timeout_s = 5) {
    const auto message = channel->receive(timeout_s);
    EXPECT_FALSE(message);
    return message ? Errc::internal : message.error().code;
  }

  std::array<int, 2> fds_{-1, -1};
  std::optional<LineChannel> channel;
};

TEST_F(ChannelTest, OneMessageBothWays) {
  put("{\"type\": \"hello\", \"id\": 7}\n");
  const auto message = channel->receive(5);
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(message->at("id"), 7);
  ASSERT_TRUE(channel->send(Json{{"a", 1}}));
  std::array<char, 64> text{};
  ASSERT_EQ(read(fds_[1], text.data(), text.size()), 8);
  EXPECT_STREQ(text.data(), "{\"a\":1}\n");
}

TEST_F(ChannelTest, ALineInPiecesIsOneMessage) {
  for (const char* piece : {"{\"a\"", ":", " 1", "}"}) {
    put(piece);
    EXPECT_EQ(failure(0), Errc::timeout);
  }
  put("\n{\"b\": 2}\n{\"c\"");
  EXPECT_EQ(channel->receive(5)->dump(), R"({"a":1})");
  EXPECT_EQ(channel->receive(5)->dump(), R"({"b":2})");
  EXPECT_EQ(failure(0), Errc::timeout);
  put(": 3}\n");
  EXPECT_EQ(channel->receive(5)->dump(), R"({"c":3})");
}

TEST_F(ChannelTest, SeveralMessagesInOneReadKeepTheirOrder) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "{\"i\": " + std::to_string(i) + "}\n";
  put(text);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(channel->receive(5)->at("i"), i);
  EXPECT_EQ(failure(0), Errc::timeout);
}

TEST_F(ChannelTest, ZeroTimeoutTakesWhatIsThere) {
  put("{\"a\": 1}\n");
  EXPECT_TRUE(channel->receive(0));
}

TEST_F(ChannelTest, GarbageIsAnErrorAndTheNextLineIsRead) {
  const std::string_view lines[] = {"hello",     "[1]", "1",        "\"x\"", "null",
                                    "{\"a\": }", "",    "\xff\xfe", "{} {}"};
  for (const std::string_view line : lines) {
    put(line);
    put("\n{\"next\": true}\n");
    const auto message = channel->receive(5);
    ASSERT_FALSE(message) << line;
    EXPECT_EQ(message.error().code, Errc::invalid_input);
    EXPECT_EQ(channel->receive(5)->at("next"), true);
  }
}

TEST_F(ChannelTest, GarbageIsShownShortAndHarmless) {
  put("\x1b[31m" + std::string(500, 'x') + "\n");
  const auto message = channel->receive(5);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().message.find('\x1b'), std::string::npos);
  EXPECT_LT(message.error().message.size(), 200u);
}

TEST_F(ChannelTest, DeepNestingIsRefused) {
  put("{\"a\":" + std::string(100000, '[') + "\n");
  EXPECT_EQ(failure(), Errc::invalid_input);
}

TEST_F(ChannelTest, ALineOfTheGreatestLengthPassesAndOneByteMoreDoesNot) {
  const std::string head = "{\"a\":\"";
  const std::string tail = "\"}\n";
  const std::size_t room = kMaxMessageBytes - head.size() - tail.size();
  std::thread writer([&] {
    put(head + std::string(room, 'x') + tail);
    put(head + std::string(room + 1, 'x') + tail);
    put(head + std::string(2 * room, 'x') + tail);
    put("{\"next\": true}\n");
  });
  const auto longest = channel->receive(60);
  EXPECT_EQ(longest ? longest->at("a").get_ref<const std::string&>().size() : 0, room);
  EXPECT_EQ(failure(60), Errc::invalid_input);
  EXPECT_EQ(failure(60), Errc::invalid_input) << "once per line, not for ever";
  EXPECT_TRUE(channel->receive(60));
  writer.join();
}

TEST_F(ChannelTest, SendRefusesWhatTheOtherSideWouldRefuse) {
  const auto status = channel->send(Json{{"a", std::string(kMaxMessageBytes, 'x')}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::internal);
  EXPECT_EQ(failure(0), Errc::timeout) << "nothing was sent";
}

TEST_F(ChannelTest, SendReplacesBytesThatAreNoUtf8) {
  ASSERT_TRUE(channel->send(Json{{"a", "\xff"}}));
  std::array<char, 64> text{};
  ASSERT_GT(read(fds_[1], text.data(), text.size()), 0);
  EXPECT_TRUE(Json::accept(text.data()));
}

TEST_F(ChannelTest, AClosedPeerIsIoAfterItsLastMessage) {
  put("{\"last\": 1}\n{\"half\":");
  hang_up();
  EXPECT_TRUE(channel->receive(5));
  EXPECT_EQ(failure(), Errc::io);
  EXPECT_EQ(failure(), Errc::io) << "and stays so";
  const auto status = channel->send(Json{{"a", 1}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::io);
}

TEST_F(ChannelTest, TimesOut) {
  EXPECT_EQ(failure(0.001), Errc::timeout);
}

TEST_F(ChannelTest, CancelWinsOverAMessage) {
  std::array<int, 2> cancel{-1, -1};
  ASSERT_EQ(pipe(cancel.data()), 0);
  put("{\"a\": 1}\n");
  ASSERT_EQ(write(cancel[1], "x", 1), 1);
  const auto message = channel->receive(-1, cancel[0]);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Errc::interrupted);
  close(cancel[0]);
  close(cancel[1]);
}

TEST_F(ChannelTest, AProcessThatEndedIsIoOnceItsWordsAreRead) {
  std::array<int, 2> gone{-1, -1};
  ASSERT_EQ(pipe(gone.data()), 0);
  ASSERT_EQ(write(gone[1], "x", 1), 1);
  put("{\"last\": 1}\n");
  EXPECT_TRUE(channel->receive(-1, -1, gone[0]));
  const auto message = channel->receive(-1, -1, gone[0]);  // the socket is open still
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Errc::io);
  close(gone[0]);
  close(gone[1]);
}

}  // namespace
}  // namespace sluice::measure::channel_test
