// sluice/cli/serve/server.cpp - sockets and poll.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/serve/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <list>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

namespace sluice::cli {
namespace {

using Moment = std::chrono::steady_clock::time_point;
constexpr std::chrono::seconds kRequestS{10};
constexpr std::chrono::seconds kStallS{20};
constexpr std::chrono::seconds kLingerS{2};  // for the last bytes to be taken
constexpr std::chrono::seconds kHeartbeatS{15};
constexpr std::size_t kMostPending = 256 << 10;  // bytes of events that nobody takes
constexpr std::size_t kChunk = 64 << 10;

const char* phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Bad Request";
  }
}

struct Connection {
  Descriptor socket;
  Moment since;  // accepted, or last bytes taken
  std::string in;
  std::string out;  // headers and events
  std::size_t out_at = 0;
  std::shared_ptr<const std::string> body;
  std::size_t body_at = 0;
  Descriptor file;
  std::int64_t file_left = 0;
  bool answered = false;
  bool follows = false;
  bool ended = false;  // all was sent; what still comes is read, or the answer would be lost
  bool done = false;

  [[nodiscard]] bool pending() const {
    return out_at < out.size() || (body && body_at < body->size()) || file_left > 0;
  }
};

void answer_with(Connection& to, Response response, bool head) {
  const std::int64_t length = response.file.open() ? response.file_bytes
                              : response.body ? static_cast<std::int64_t>(response.body->size())
                                              : 0;
  to.out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}Connection: close\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: "
      "no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: "
      "{}\r\n{}\r\n",
      response.status, phrase(response.status), response.type,
      response.events ? "" : fmt::format("Content-Length: {}\r\n", length), response.policy,
      response.status == 405 ? "Allow: GET, HEAD\r\n" : "");
  to.answered = true;
  to.in.clear();
  if (head) return;
  to.follows = response.events;
  to.body = std::move(response.body);
  to.file = std::move(response.file);
  to.file_left = to.file.open() ? response.file_bytes : 0;
}

Response refusal(int status, const std::string& why) {
  Response response;
  response.status = status;
  response.body = std::make_shared<const std::string>(fmt::format("{}: {}\n", status, why));
  return response;
}

/// Takes what came; an answer when the request is whole.
void receive(Connection& from, const Server::Answer& answer, int port, std::size_t followers) {
  char chunk[4096];
  const ssize_t n = ::recv(from.socket.get(), chunk, sizeof chunk, 0);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) from.done = true;
  if (n <= 0 || from.answered) return;  // after the request nothing is listened to
  from.in.append(chunk, static_cast<std::size_t>(n));
  const ParsedRequest parsed = parse_request(from.in, port);
  if (parsed.status == 0) return;
  if (parsed.status != 200) return answer_with(from, refusal(parsed.status, parsed.why), false);
  Response response = answer(parsed.request);
  if (response.events && followers >= kMostFollowers)
    response = refusal(503, fmt::format("{} pages follow already", kMostFollowers));
  answer_with(from, std::move(response), parsed.request.head);
}

/// One piece, so that others get their turn.
void send_some(Connection& to, Moment now) {
  std::string chunk;
  const char* bytes = nullptr;
  std::size_t size = 0;
  if (to.out_at < to.out.size()) {
    bytes = to.out.data() + to.out_at;
    size = to.out.size() - to.out_at;
  } else if (to.body && to.body_at < to.body->size()) {
    bytes = to.body->data() + to.body_at;
    size = std::min(to.body->size() - to.body_at, kChunk);
  } else {
    chunk.resize(static_cast<std::size_t>(std::min<std::int64_t>(to.file_left, kChunk)));
    const ssize_t n = ::read(to.file.get(), chunk.data(), chunk.size());
    if (n <= 0) {  // it became shorter: the length we promised cannot be kept
      to.done = true;
      return;
    }
    bytes = chunk.data();
    size = static_cast<std::size_t>(n);
  }
  const ssize_t sent = ::send(to.socket.get(), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    to.done = errno != EAGAIN && errno != EINTR;
    if (!to.done && !chunk.empty()) ::lseek(to.file.get(), -static_cast<off_t>(size), SEEK_CUR);
    return;
  }
  to.since = now;
  const auto taken = static_cast<std::size_t>(sent);
  if (to.out_at < to.out.size()) {
    to.out_at += taken;
    if (to.out_at == to.out.size()) {
      to.out.clear();
      to.out_at = 0;
    }
  } else if (to.body && to.body_at < to.body->size()) {
    to.body_at += taken;
  } else {
    to.file_left -= sent;
    if (taken < size)
      ::lseek(to.file.get(), static_cast<off_t>(taken) - static_cast<off_t>(size), SEEK_CUR);
  }
}

void tell(std::list<Connection>& all, const std::string& text, Moment now) {
  for (Connection& one : all) {
    if (!one.follows || text.empty()) continue;
    if (!one.pending()) one.since = now;
    one.out += text;
    if (one.out.size() - one.out_at > kMostPending) one.done = true;
  }
}

bool is_over(const Connection& one, Moment now) {
  if (one.done) return true;
  if (!one.answered) return now - one.since > kRequestS;
  if (one.pending()) return now - one.since > kStallS;
  return one.ended && now - one.since > kLingerS;
}

void drain(int fd) {
  char bytes[256];
  while (::read(fd, bytes, sizeof bytes) == sizeof bytes) {
  }
}

}  // namespace

Result<Server> Server::listen(int port) {
  Server server;
  server.listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!server.listener_.open()) return Error{Errc::io, "a socket: " + why(errno)};
  const int yes = 1;
  ::setsockopt(server.listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(server.listener_.get(), plain, size) != 0 ||
      ::listen(server.listener_.get(), 64) != 0 ||
      ::getsockname(server.listener_.get(), plain, &size) != 0)
    return Error{Errc::usage,
                 fmt::format("--port {}: {}; 0 takes one that is free", port, why(errno))};
  server.port_ = ntohs(address.sin_port);
  return server;
}

Status Server::serve(const Answer& answer, int cancel_fd, int wake_fd,
                     const std::function<std::string()>& news) {
  std::list<Connection> all;
  Moment heartbeat = std::chrono::steady_clock::now();
  for (;;) {
    std::vector<pollfd> watched = {{cancel_fd, POLLIN, 0}, {wake_fd, POLLIN, 0}};
    watched.push_back({all.size() < kMostConnections ? listener_.get() : -1, POLLIN, 0});
    for (const Connection& one : all)
      watched.push_back(
          {one.socket.get(), static_cast<short>(POLLIN | (one.pending() ? POLLOUT : 0)), 0});
    if (::poll(watched.data(), watched.size(), 1000) < 0 && errno != EINTR)
      return Error{Errc::io, "poll: " + why(errno)};
    if (watched[0].revents != 0) return ok;
    const Moment now = std::chrono::steady_clock::now();
    std::size_t i = 3, followers = 0;
    for (const Connection& one : all)
      followers += one.follows ? 1 : 0;
    for (Connection& one : all) {
      const short came = watched[i++].revents;
      if ((came & (POLLIN | POLLHUP | POLLERR)) != 0) receive(one, answer, port_, followers);
      if (!one.done && (came & POLLOUT) != 0 && one.pending()) send_some(one, now);
    }
    if (watched[1].revents != 0) {
      drain(wake_fd);
      tell(all, news(), now);
    }
    if (now - heartbeat > kHeartbeatS) {
      heartbeat = now;
      tell(all, ": still here\n\n", now);
    }
    for (Connection& one : all) {
      if (!one.answered || one.pending() || one.follows || one.ended) continue;
      one.ended = true;
      one.since = now;
      ::shutdown(one.socket.get(), SHUT_WR);
    }
    std::erase_if(all, [&](const Connection& one) { return is_over(one, now); });
    if (watched[2].revents != 0) {
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.open()) {
        all.emplace_back();
        all.back().socket = std::move(socket);
        all.back().since = now;
      }
    }
  }
}

}  // namespace sluice::cli
