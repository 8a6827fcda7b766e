// sluice/storage/remote/range_transfer.h - one attempt at a range of an object, hedged if it is
// slow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/remote/http.h"
#include "sluice/storage/remote/latency.h"
#include "sluice/storage/remote/remote_store.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::storage {

/// Content-Range of an answer: bytes first to last of an object of `total` bytes.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> total{};  // nothing: the server does not say
};
/// "bytes 0-99/1000"; nothing when it is anything else.
std::optional<ContentRange> parse_content_range(std::string_view text);

/// Takes the answer to one ranged GET. Bytes go to `out` only when the head is that of the right
/// bytes of the right version.
class RangeSink final : public HttpSink {
 public:
  RangeSink(const Dialect& dialect, const Object& object, std::uint64_t offset,
            std::span<std::byte> out);
  bool head(const HttpHead& head) override;
  bool body(std::span<const std::byte> bytes) override;

  [[nodiscard]] std::size_t received() const { return received_; }  // in order, from the front
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }  // bytes of no use
  [[nodiscard]] bool whole() const { return received_ == out_.size(); }
  /// What is wrong with the head; empty: nothing, or it is no answer of success.
  [[nodiscard]] const std::string& mismatch() const { return mismatch_; }
  /// The version of the answer, when it is another than the one asked for.
  [[nodiscard]] const std::string& other_version() const { return other_version_; }
  /// The version of an answer of success, whatever it is.
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const std::string& error_body() const { return error_body_; }

 private:
  std::string check(const HttpHead& head);
  std::string check_range(const HttpHead& head);

  const Dialect& dialect_;
  const Object& object_;
  std::uint64_t offset_;
  std::span<std::byte> out_;
  std::size_t received_ = 0;
  std::uint64_t skip_ = 0;  // of a whole object, before the range
  std::uint64_t dropped_ = 0;
  bool refused_ = false;
  std::string mismatch_;
  std::string other_version_;
  std::string version_;
  std::string error_body_;
};

struct RangeAttempt {
  std::size_t received = 0;  // of `out`, from its front
  std::uint64_t wasted = 0;  // bytes that came and were of no use
  int requests = 0;
  int connections = 0;
  bool hedged = false;
  bool hedge_won = false;
  double first_byte_s = -1;
  double total_s = 0;
  std::string version{};  // of what was received
  // Of a failure:
  HttpOutcome outcome{};
  std::string mismatch{};
  std::string other_version{};
  std::string error_body{};
};

struct RangeTask {
  Dialect& dialect;
  const Object& object;
  std::uint64_t offset;      // of out's front
  std::span<std::byte> out;  // not empty
  bool fresh;                // a new connection
  HedgePolicy* hedge;        // nullptr: never; nor for an object without a version
  const HttpLimits& limits;
  const std::atomic<bool>& cancel;
};

/// An Error is one of making the request: no credentials, no memory.
Result<RangeAttempt> attempt_range(HttpLane& lane, const RangeTask& task);

}  // namespace sluice::storage
