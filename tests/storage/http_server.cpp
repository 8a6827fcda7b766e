// tests/storage/http_server.cpp - sockets, request parsing, and bodies that end where a test wants.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/http_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::storage::testing {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;
constexpr std::size_t kHeadLimit = std::size_t{64} << 10;
constexpr std::size_t kBodyLimit = std::size_t{1} << 20;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 412:
      return "Precondition Failed";
    case 416:
      return "Range Not Satisfiable";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

/// The head without its empty line; nothing when it is not HTTP.
std::optional<HttpRequest> parse_head(std::string_view head) {
  HttpRequest request;
  std::size_t end = head.find("\r\n");
  const std::string_view line = head.substr(0, end);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first) return std::nullopt;
  request.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string_view::npos) request.query = target.substr(mark + 1);
  while (end != std::string_view::npos) {
    head.remove_prefix(end + 2);
    end = head.find("\r\n");
    const std::string_view field = head.substr(0, end);
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string name(field.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), lower);
    request.headers.emplace_back(std::move(name), std::string(trimmed(field.substr(colon + 1))));
  }
  return request;
}

/// Bytes that came and are not used yet, then the socket.
class Input {
 public:
  explicit Input(int socket) : socket_(socket) {}

  std::optional<HttpRequest> next() {
    std::size_t end = 0;
    while ((end = pending_.find("\r\n\r\n")) == std::string::npos)
      if (pending_.size() > kHeadLimit || !more()) return std::nullopt;
    auto request = parse_head(std::string_view(pending_).substr(0, end));
    pending_.erase(0, end + 4);
    if (!request) return std::nullopt;
    std::size_t length = 0;
    const std::string_view text = request->header("content-length");
    std::from_chars(text.data(), text.data() + text.size(), length);
    if (length > kBodyLimit) return std::nullopt;
    while (pending_.size() < length)
      if (!more()) return std::nullopt;
    request->body = pending_.substr(0, length);
    pending_.erase(0, length);
    return request;
  }

 private:
  bool more() {
    char bytes[8192];
    ssize_t got = 0;
    do
      got = ::recv(socket_, bytes, sizeof bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    pending_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  std::string pending_;
};

}  // namespace

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

std::string HttpRequest::parameter(std::string_view name) const {
  for (std::string_view rest = query; !rest.empty();) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decode(pair.substr(0, equals)) == name)
      return percent_decode(pair.substr(std::min(equals + 1, pair.size())));
  }
  return {};
}

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || ::bind(listener_, any, size) != 0 || ::listen(listener_, 1024) != 0 ||
      ::getsockname(listener_, any, &size) != 0)
    throw std::runtime_error(std::string("cannot listen on 127.0.0.1: ") + std::strerror(errno));
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

HttpServer::~HttpServer() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    for (const Connection& connection : connections_)
      if (!connection.done) ::shutdown(connection.socket, SHUT_RDWR);
  }
  stopped_.notify_all();
  ::shutdown(listener_, SHUT_RDWR);  // wakes accept()
  acceptor_.join();
  reap(true);
  ::close(listener_);
}

std::string HttpServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

void HttpServer::accept_loop() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    reap(false);
    const std::scoped_lock lock(mutex_);
    if (stop_) {
      if (socket >= 0) ::close(socket);
      return;
    }
    if (socket < 0) continue;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ++accepted_;
    Connection& connection = connections_.emplace_back();
    connection.socket = socket;
    connection.thread = std::thread([this, &connection] { serve(connection); });
  }
}

void HttpServer::reap(bool all) {
  std::list<Connection> ended;
  {
    const std::scoped_lock lock(mutex_);
    for (auto it = connections_.begin(); it != connections_.end();) {
      const auto next = std::next(it);
      if (all || it->done) ended.splice(ended.end(), connections_, it);
      it = next;
    }
  }
  for (Connection& connection : ended)
    connection.thread.join();
}

void HttpServer::serve(Connection& connection) {
  Input input(connection.socket);
  std::vector<std::byte> buffer;
  while (auto request = input.next()) {
    ++requests_;
    if (!answer(connection.socket, *request, buffer)) break;
  }
  const std::scoped_lock lock(mutex_);  // no shutdown() of a number that is another socket by now
  ::close(connection.socket);
  connection.done = true;
}

bool HttpServer::answer(int socket, const HttpRequest& request, std::vector<std::byte>& buffer) {
  HttpReply reply = handler_(request);
  if (reply.delay_s > 0) wait(reply.delay_s);
  if (!reply.fill) reply.body_size = reply.body.size();
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + reason(reply.status) +
                     "\r\nContent-Length: " + std::to_string(reply.body_size) + "\r\n";
  for (const auto& [name, value] : reply.headers)
    head += name + ": " + value + "\r\n";
  head += "\r\n";
  if (request.method == "HEAD") reply.send_bytes = 0;
  const bool sent = send_body(socket, reply, std::move(head), buffer);
  if (reply.end == HttpReply::End::reset) {
    const linger now{1, 0};  // close() then sends RST
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  return sent && reply.end == HttpReply::End::keep && request.header("connection") != "close";
}

bool HttpServer::send_body(int socket, const HttpReply& reply, std::string head,
                           std::vector<std::byte>& buffer) {
  const std::uint64_t total = std::min(reply.send_bytes, reply.body_size);
  if (!reply.fill) {
    head.append(reply.body, 0, total);
    return send_all(socket, std::as_bytes(std::span(head)));
  }
  // The head travels with the first piece: one system call for a small answer.
  std::uint64_t done = 0;
  do {
    const std::size_t before = done == 0 ? head.size() : 0;
    const std::size_t piece =
        static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, total - done));
    buffer.resize(std::max(buffer.size(), before + piece));
    std::memcpy(buffer.data(), head.data(), before);
    reply.fill(done, std::span(buffer).subspan(before, piece));
    if (!send_all(socket, std::span(buffer).first(before + piece))) return false;
    done += piece;
  } while (done < total);
  return true;
}

bool HttpServer::send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes_sent_ += static_cast<std::uint64_t>(sent);
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

void HttpServer::wait(double seconds) {
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return stop_; });
}

}  // namespace sluice::storage::testing
