// sluice/cli/serve/server.h - a small HTTP server on loopback: one thread, bounded, read only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/serve/request.h"
#include "sluice/core/descriptor.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sluice::cli {

inline constexpr std::size_t kMostConnections = 64;
inline constexpr std::size_t kMostFollowers = 32;  // of those: who stays for events

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string policy = "default-src 'none'";  // Content-Security-Policy
  std::shared_ptr<const std::string> body;
  Descriptor file;  // instead of a body: its first `file_bytes`
  std::int64_t file_bytes = 0;
  bool events = false;  // the body, then what publish() gives, until either side leaves
};

class Server {
 public:
  using Answer = std::function<Response(const Request&)>;

  /// Listens on 127.0.0.1; port 0 takes any that is free.
  static Result<Server> listen(int port);
  [[nodiscard]] int port() const { return port_; }

  /// Answers until `cancel_fd` is readable. `news` is asked when `wake_fd` is: its text goes to all
  /// who follow. A client that is slow waits alone: requests have kRequestS, and an answer of which
  /// nothing was taken for kStallS is dropped.
  Status serve(const Answer& answer, int cancel_fd, int wake_fd,
               const std::function<std::string()>& news);

 private:
  Descriptor listener_;
  int port_ = 0;
};

}  // namespace sluice::cli
