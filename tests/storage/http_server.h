// tests/storage/http_server.h - a small HTTP/1.1 server on 127.0.0.1 whose answers a test decides,
// down to where the connection breaks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::storage::testing {

struct HttpRequest {
  std::string method;
  std::string path;                                          // as sent, still percent-encoded
  std::string query;                                         // likewise, without the '?'
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  /// Empty when there is none; the first when there are several.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  /// Percent-decoded value of a query parameter; empty when there is none.
  [[nodiscard]] std::string parameter(std::string_view name) const;
};

/// "%2F" and the like resolved; '+' stays.
std::string percent_decode(std::string_view text);

struct HttpReply {
  enum class End {
    keep,   // the connection serves the next request
    close,  // orderly (FIN), also when the body is not whole
    reset,  // RST
  };

  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  /// Instead of `body`: `body_size` bytes, made piece by piece.
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> fill;
  std::uint64_t body_size = 0;

  double delay_s = 0;                     // before the first byte
  std::uint64_t send_bytes = UINT64_MAX;  // of the body; the length announced stays whole
  End end = End::keep;
};

/// One thread per connection, keep-alive. The handler is called from many threads.
class HttpServer {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  /// Listens on a free port of 127.0.0.1. Throws std::runtime_error when it cannot.
  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  /// "http://127.0.0.1:PORT".
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] std::uint64_t connections() const { return accepted_; }
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Connection {
    int socket = -1;
    std::thread thread;
    bool done = false;  // under mutex_
  };

  void accept_loop();
  void serve(Connection& connection);
  bool answer(int socket, const HttpRequest& request, std::vector<std::byte>& buffer);
  bool send_body(int socket, const HttpReply& reply, std::string head,
                 std::vector<std::byte>& buffer);
  bool send_all(int socket, std::span<const std::byte> bytes);
  void wait(double seconds);
  void reap(bool all);

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::list<Connection> connections_;
  std::thread acceptor_;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> bytes_sent_{0};
};

}  // namespace sluice::storage::testing
