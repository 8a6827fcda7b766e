// sluice/measure/worker/protocol.cpp - framing, limits and deadlines of the worker protocol.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/protocol.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace sluice::measure {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Enough of a bad line to recognise it.
std::string excerpt(const std::string& line) {
  constexpr std::size_t kShown = 80;
  return printable(line.substr(0, kShown)) + (line.size() > kShown ? "..." : "");
}

}  // namespace

LineChannel::~LineChannel() {
  if (read_fd_ >= 0) close(read_fd_);
  if (write_fd_ >= 0 && write_fd_ != read_fd_) close(write_fd_);
}

Status LineChannel::send(const Json& message) {
  // Library texts may carry bytes that are no UTF-8; they are replaced rather than thrown over.
  std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  line += '\n';
  if (line.size() > kMaxMessageBytes) {
    return Error{Errc::internal, fmt::format("message of {} bytes; the protocol allows {}",
                                             line.size(), kMaxMessageBytes)};
  }
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(write_fd_, line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return Error{Errc::io, fmt::format("the other side does not read: {}", std::strerror(errno))};
    sent += static_cast<std::size_t>(n);
  }
  return ok;
}

std::optional<std::string> LineChannel::take_line() {
  const std::size_t end = buffer_.find('\n', scanned_);
  scanned_ = buffer_.size();
  if (end == std::string::npos) {
    if (discarding_) drop_buffer();
    return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  scanned_ = 0;
  if (!discarding_) return line;
  discarding_ = false;
  return take_line();
}

void LineChannel::drop_buffer() {
  buffer_.clear();
  scanned_ = 0;
}

Result<Json> LineChannel::receive(double timeout_s, int cancel_fd, int gone_fd) {
  const auto too_long = [] {
    return Error{Errc::invalid_input, fmt::format("a line of over {} bytes", kMaxMessageBytes)};
  };
  const auto start = SteadyClock::now();
  while (true) {
    if (auto line = take_line()) {
      if (line->size() >= kMaxMessageBytes) return too_long();  // with its newline it is over
      auto message = parse_json(*line, "message");
      if (!message || !message->is_object()) {
        return Error{Errc::invalid_input, fmt::format("not a JSON object: {}", excerpt(*line))};
      }
      return message;
    }
    if (buffer_.size() >= kMaxMessageBytes) {
      drop_buffer();
      discarding_ = true;
      return too_long();
    }
    int wait_ms = -1;
    if (timeout_s >= 0) {
      const double left_s =
          timeout_s - std::chrono::duration<double>(SteadyClock::now() - start).count();
      wait_ms = static_cast<int>(std::ceil(std::clamp(left_s, 0.0, 1e6) * 1e3));
    }
    const auto late = [&] {
      return Error{Errc::timeout, fmt::format("no answer within {:g} s", timeout_s)};
    };
    if (wait_ms == 0 && discarding_) return late();  // else an endless line would hold us for ever
    std::array<pollfd, 3> fds{pollfd{read_fd_, POLLIN, 0}, pollfd{cancel_fd, POLLIN, 0},
                              pollfd{gone_fd, POLLIN, 0}};  // a negative fd is ignored
    const int ready = poll(fds.data(), fds.size(), wait_ms);
    if (ready < 0) continue;  // a signal
    if (fds[1].revents != 0) return Error{Errc::interrupted, "interrupted"};
    if (fds[0].revents == 0) {
      if (fds[2].revents != 0) return Error{Errc::io, "the other side ended"};
      if (wait_ms == 0) return late();
      continue;
    }
    std::array<char, 65536> chunk{};
    const ssize_t n = read(read_fd_, chunk.data(), chunk.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return Error{Errc::io, "the other side closed the connection"};
    buffer_.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace sluice::measure
