// sluice/train/world/link.h - a connection between two ranks: whole frames, within a time limit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/descriptor.h"
#include "sluice/core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sluice::train {

struct Frame {
  std::uint32_t kind = 0;
  std::string bytes{};
};

inline constexpr double kNoLimit = -1;

/// Errors: Errc::timeout at the limit (seconds; kNoLimit, or 0: what is there now), Errc::io when
/// the other end is gone. Both machines are of one byte order.
class Link {
 public:
  explicit Link(Descriptor socket) : socket_(std::move(socket)) {}
  Status send(std::uint32_t kind, std::span<const std::byte> bytes, double limit_s);
  Result<Frame> receive(double limit_s);
  /// A machine that is lost says nothing: after so many seconds without a sign of it the other end
  /// counts as gone. One that is stopped or busy gives signs.
  void expect_signs(double silence_s);

 private:
  Descriptor socket_;
  std::string read_{};  // of the frame that is coming
};

/// Where rank 0 is called.
class Door {
 public:
  /// Port 0: any. `address`: a number of this machine, or its name, by which others call at an
  /// address that it may not know itself (Debian calls itself 127.0.1.1): then it is heard at all
  /// of them. Usage error: the port is taken.
  static Result<Door> open(const std::string& address, int port);
  [[nodiscard]] int port() const { return port_; }
  /// Nothing: nobody came.
  Result<std::optional<Link>> next(double limit_s);

 private:
  Door(Descriptor socket, int port) : socket_(std::move(socket)), port_(port) {}
  Descriptor socket_;
  int port_;
};

/// Tries until the limit: the other may not be there yet.
Result<Link> call(const std::string& address, int port, double limit_s);

}  // namespace sluice::train
