// sluice/train/world/link.cpp - sockets that never wait by themselves, and poll.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/link.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace sluice::train {
namespace {

struct Header {
  std::uint32_t kind = 0;
  std::uint32_t mark = 0;
  std::uint64_t bytes = 0;
};
constexpr std::uint32_t kMark = 0x534c5731;  // whoever else calls at this port does not send it
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;
constexpr double kLongestBetweenSigns_s = 60, kLongestSilence_s = 7 * 86400;
constexpr auto kBetweenCalls = std::chrono::milliseconds(20);  // between two calls

class Deadline {
 public:
  explicit Deadline(double limit_s) : limited_(limit_s >= 0) {
    if (limited_)
      end_ = Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  }
  /// As poll() takes it; the last part of a millisecond counts as a whole one.
  [[nodiscard]] int left_ms() const {
    if (!limited_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
  }
  [[nodiscard]] bool passed() const { return limited_ && Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool limited_;
  Clock::time_point end_{};
};

/// False: the limit came first.
Result<bool> wait_for(int socket, short what, const Deadline& deadline) {
  pollfd one{socket, what, 0};
  for (;;) {
    const int ready = ::poll(&one, 1, deadline.left_ms());
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return Error{Errc::io, why(errno)};
  }
}

/// Whether a close is seen as the end of what comes or as one of these depends on what was still on
/// its way.
Error gone(int number) {
  const bool closed = number == 0 || number == ECONNRESET || number == EPIPE;
  return {Errc::io, closed ? "the connection was closed" : why(number)};
}

struct Addresses {
  struct Free {
    void operator()(addrinfo* all) const { ::freeaddrinfo(all); }
  };
  std::unique_ptr<addrinfo, Free> list;
  static Result<Addresses> of(const std::string& name, int port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int code = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (code != 0)
      return Error{Errc::usage,
                   fmt::format("rank 0 has no address: {}: {}; MASTER_ADDR names another",
                               printable(name), ::gai_strerror(code))};
    return Addresses{std::unique_ptr<addrinfo, Free>(found)};
  }
};

Descriptor socket_for(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Others may know a machine's name by another address than the machine itself. A number, and what
/// every machine calls itself, mean one address.
bool names_a_machine(const std::string& address) {
  in6_addr number{};
  return address != "localhost" && ::inet_pton(AF_INET, address.c_str(), &number) != 1 &&
         ::inet_pton(AF_INET6, address.c_str(), &number) != 1;
}

/// Of all addresses of this machine; that of IPv6 hears IPv4 as well.
std::vector<sockaddr_storage> any_address(int port) {
  std::vector<sockaddr_storage> all(2);
  auto& six = reinterpret_cast<sockaddr_in6&>(all[0]);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<in_port_t>(port));
  auto& four = reinterpret_cast<sockaddr_in&>(all[1]);
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<in_port_t>(port));
  return all;
}

/// Whoever calls at a port from which calls are made may reach itself.
bool called_itself(int socket) {
  sockaddr_storage here{}, there{};
  socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_bytes) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_bytes) == 0 &&
         here_bytes == there_bytes && std::memcmp(&here, &there, here_bytes) == 0;
}

/// Connects within the limit: 0, or the number of what was in the way.
Result<int> connect_to(int socket, const addrinfo& place, const Deadline& deadline) {
  if (::connect(socket, place.ai_addr, place.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    SLUICE_TRY(const bool ready, wait_for(socket, POLLOUT, deadline));
    if (!ready) return ETIMEDOUT;
    int number = 0;
    socklen_t length = sizeof number;
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &length);
    if (number != 0) return number;
  }
  return called_itself(socket) ? ECONNREFUSED : 0;
}

Link linked(Descriptor socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return Link(std::move(socket));
}

}  // namespace

Status Link::send(std::uint32_t kind, std::span<const std::byte> bytes, double limit_s) {
  const Header header{kind, kMark, bytes.size()};
  const std::span<const std::byte> head = std::as_bytes(std::span(&header, 1));
  const Deadline deadline(limit_s);
  for (std::span<const std::byte> part : {head, bytes}) {
    // A header waits for its bytes: alone it would be a packet of its own.
    const bool more = part.data() == head.data() && !bytes.empty();
    const int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    while (!part.empty()) {
      const ssize_t sent = ::send(socket_.get(), part.data(), part.size(), flags);
      if (sent >= 0) {
        part = part.subspan(static_cast<std::size_t>(sent));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return gone(errno);
      SLUICE_TRY(const bool ready, wait_for(socket_.get(), POLLOUT, deadline));
      if (!ready) return Error{Errc::timeout, "nothing was taken"};
    }
  }
  return ok;
}

Result<Frame> Link::receive(double limit_s) {
  const Deadline deadline(limit_s);
  for (;;) {
    Header header;
    std::size_t whole = sizeof header;
    if (read_.size() >= sizeof header) {
      std::memcpy(&header, read_.data(), sizeof header);
      if (header.mark != kMark || header.bytes > kMostBytes)
        return Error{Errc::io, "what came is not ours"};
      whole += static_cast<std::size_t>(header.bytes);
      if (read_.size() == whole) {
        Frame frame{header.kind, read_.substr(sizeof header)};
        read_.clear();
        return frame;
      }
    }
    // Never more than this frame: what follows stays in the socket.
    const std::size_t had = read_.size();
    read_.resize(whole);
    const ssize_t got = ::recv(socket_.get(), read_.data() + had, whole - had, 0);
    const int number = errno;
    read_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) continue;
    if (got == 0) return gone(0);
    if (number == EINTR) continue;
    if (number != EAGAIN) return gone(number);
    SLUICE_TRY(const bool ready, wait_for(socket_.get(), POLLIN, deadline));
    if (!ready) return Error{Errc::timeout, "nothing came"};
  }
}

void Link::expect_signs(double silence_s) {
  const int on = 1;
  const int between_s = static_cast<int>(std::clamp(silence_s / 4, 1.0, kLongestBetweenSigns_s));
  const auto silence_ms =
      static_cast<unsigned>(std::clamp(silence_s, 1.0, kLongestSilence_s) * 1e3);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  for (const int which : {TCP_KEEPIDLE, TCP_KEEPINTVL})
    ::setsockopt(socket_.get(), IPPROTO_TCP, which, &between_s, sizeof between_s);
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
}

Result<Door> Door::open(const std::string& address, int port) {
  SLUICE_TRY(const Addresses found, Addresses::of(address, port));
  std::vector<sockaddr_storage> all;
  if (names_a_machine(address)) {
    all = any_address(port);
  } else {
    for (const addrinfo* one = found.list.get(); one != nullptr; one = one->ai_next)
      std::memcpy(&all.emplace_back(), one->ai_addr, one->ai_addrlen);
  }
  int number = 0;
  for (const sockaddr_storage& one : all) {
    const bool six = one.ss_family == AF_INET6;
    Descriptor socket = socket_for(one.ss_family);
    const int on = 1, off = 0;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (six) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&one),
               six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in)) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0) {
      sockaddr_storage bound{};
      socklen_t length = sizeof bound;
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length);
      const in_port_t at = six ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                               : reinterpret_cast<const sockaddr_in&>(bound).sin_port;
      return Door(std::move(socket), ntohs(at));
    }
    number = errno;
  }
  return Error{
      Errc::usage,
      fmt::format("rank 0 cannot listen at {} port {}: {}; SLUICE_WORLD_PORT names another "
                  "port",
                  printable(address), port, why(number))};
}

Result<std::optional<Link>> Door::next(double limit_s) {
  const Deadline deadline(limit_s);
  for (;;) {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.open()) return std::optional(linked(std::move(socket)));
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN) return Error{Errc::io, why(errno)};
    SLUICE_TRY(const bool ready, wait_for(socket_.get(), POLLIN, deadline));
    if (!ready) return std::optional<Link>();
  }
}

Result<Link> call(const std::string& address, int port, double limit_s) {
  const Deadline deadline(limit_s);
  SLUICE_TRY(const Addresses all, Addresses::of(address, port));
  for (;;) {
    int number = ETIMEDOUT;
    for (const addrinfo* one = all.list.get(); one != nullptr; one = one->ai_next) {
      Descriptor socket = socket_for(one->ai_family);
      SLUICE_TRY(number, connect_to(socket.get(), *one, deadline));
      if (number == 0) return linked(std::move(socket));
    }
    if (deadline.passed())
      return Error{Errc::measurement,
                   fmt::format("rank 0 at {} port {} did not answer within {:g} s: {}",
                               printable(address), port, limit_s, why(number))};
    std::this_thread::sleep_for(kBetweenCalls);
  }
}

}  // namespace sluice::train
