// sluice/measure/worker/protocol.h - one JSON object per line over two descriptors
// (docs/peer-protocol.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <optional>
#include <string>

namespace sluice::measure {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kMaxMessageBytes = std::size_t{16} << 20;
inline constexpr const char* kPeerInVariable = "SLUICE_PEER_IN";
inline constexpr const char* kPeerOutVariable = "SLUICE_PEER_OUT";

/// Owns both descriptors. Not thread-safe.
class LineChannel {
 public:
  LineChannel(int read_fd, int write_fd) : read_fd_(read_fd), write_fd_(write_fd) {}
  ~LineChannel();
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;

  Status send(const Json& message);
  /// The next message. A negative timeout waits for ever, 0 takes what is there; the wait also ends
  /// when `cancel_fd` becomes readable, or when `gone_fd` does (the other process ended) and
  /// nothing is left to read. Errors: timeout; interrupted; io when the other side closed or ended;
  /// invalid_input for a line that is no JSON object or is over 16 MiB, after which the channel
  /// goes on with the next line.
  Result<Json> receive(double timeout_s, int cancel_fd = -1, int gone_fd = -1);

 private:
  std::optional<std::string> take_line();
  void drop_buffer();

  int read_fd_;
  int write_fd_;
  std::string buffer_;
  std::size_t scanned_ = 0;  // bytes of buffer_ known to hold no newline
  bool discarding_ = false;  // the rest of a line that was too long
};

}  // namespace sluice::measure
