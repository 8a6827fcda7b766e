// sluice/storage/remote/http.h - HTTP requests over kept connections, every wait with a limit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct SluiceNetLane;
struct SluiceNetTable;

namespace sluice::storage {

/// The lines of an answer's head that anybody here looks at; all others are dropped.
enum class HttpField : std::uint8_t {
  content_length,
  content_range,
  content_type,
  date,
  etag,
  generation,     // x-goog-generation
  bucket_region,  // x-amz-bucket-region
  last_modified,
  location,
  retry_after,
  stored_encoding,  // x-goog-stored-content-encoding
  stored_length,    // x-goog-stored-content-length
};
inline constexpr std::size_t kHttpFields = 12;

struct HttpRequest {
  std::string method = "GET";
  std::string url;                     // http or https; sent as it stands
  std::vector<std::string> headers{};  // "name: value"
  std::string body{};
  bool fresh = false;  // a new connection, and the name looked up again: for attempts after a fault
};

struct HttpHead {
  int status = 0;  // 0: no answer yet
  std::array<std::string, kHttpFields> fields;
  [[nodiscard]] const std::string& operator[](HttpField field) const {
    return fields[static_cast<std::size_t>(field)];
  }
};

/// Why an exchange brought no whole answer.
enum class HttpFault : std::uint8_t {
  none,
  resolve,     // the host has no address
  connect,     // refused, unreachable, or too late
  tls,         // a certificate that is not believed
  first_byte,  // no answer within first_byte_s
  stall,       // nothing more for stall_s
  truncated,   // the body ended before its declared end
  reset,       // the connection broke
  stopped,     // the sink wanted no more
  cancelled,
  invalid,   // an address or header that no request can be made of
  protocol,  // the answer is not HTTP
  too_long,  // a body over the limit of the caller
};
std::string_view to_string(HttpFault fault);

/// Seconds.
struct HttpLimits {
  double connect_s = 5;
  double first_byte_s = 20;  // from the start of the request
  double stall_s = 10;       // in which at least 16 KiB of the answer must come, or its end
};

/// Takes an answer as it arrives, in the thread that polls.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  /// The head is whole. False: wants no more.
  virtual bool head(const HttpHead& head) = 0;
  virtual bool body(std::span<const std::byte> bytes) = 0;
};

struct HttpOutcome {
  HttpFault fault = HttpFault::none;
  std::string cause{};       // one line; empty without a fault
  HttpHead head{};           // as far as it came
  double first_byte_s = -1;  // from the start; -1: none came
  double total_s = 0;
  int new_connections = 0;
};

/// What came of a request whose answer was to be taken whole.
struct HttpExchange {
  HttpOutcome outcome;
  std::string body{};
};

/// An answer taken whole.
struct HttpReply {
  HttpHead head;
  std::string body;
  double first_byte_s = 0;
  double total_s = 0;
  int new_connections = 0;
};

/// Connections for one thread at a time, with room for a request and its hedge. Names of slots: 0
/// and 1.
class HttpLane {
 public:
  static constexpr int kSlots = 2;
  /// The sink must live until the exchange has ended or was stopped.
  void start(int slot, HttpRequest request, HttpSink& sink, const HttpLimits& limits);
  /// Moves bytes, waiting at most `wait_s` for the first. Limits are looked at here.
  void poll(double wait_s);
  /// What came of it, once; then the slot is free.
  std::optional<HttpOutcome> ended(int slot);
  /// Seconds since start().
  [[nodiscard]] double elapsed_s(int slot) const;
  void stop(int slot);

  HttpLane(const SluiceNetTable* table, SluiceNetLane* lane, std::string ca_file);
  ~HttpLane();
  HttpLane(const HttpLane&) = delete;
  HttpLane& operator=(const HttpLane&) = delete;

 private:
  struct Slot;
  void check_limits(Slot& slot, int number);

  const SluiceNetTable* table_;
  SluiceNetLane* lane_;
  std::string ca_file_;
  std::array<std::unique_ptr<Slot>, kSlots> slots_;
};

struct HttpOptions {
  HttpLimits limits{};
  std::string ca_file{};  // of AWS_CA_BUNDLE; empty: the certificates of the system
};

/// How long a cancel may go unseen.
inline constexpr double kCancelCheck_s = 0.02;

/// Thread-safe. Lanes are made when first needed: nothing of it exists before, so a process may
/// fork until then.
class HttpClient {
 public:
  /// Errc::unsupported, naming the module, when this build has none.
  static Result<std::shared_ptr<HttpClient>> open(const HttpOptions& options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// A lane of one's own until it goes out of scope.
  class Lease;
  Result<Lease> lane();

  /// One request, one whole answer of any status. Errors are of the connection and name the host
  /// and the cause: timeout, interrupted (when *cancel becomes true, or the user wants to stop),
  /// io, invalid_input (body over `max_body` bytes).
  Result<HttpReply> call(HttpRequest request, std::size_t max_body,
                         const std::atomic<bool>* cancel = nullptr);
  Result<HttpReply> call(HttpRequest request, std::size_t max_body, const HttpLimits& limits,
                         const std::atomic<bool>* cancel);

  /// The same, for those who treat faults one by one.
  HttpExchange exchange(HttpRequest request, std::size_t max_body, const HttpLimits& limits,
                        const std::atomic<bool>* cancel);

  [[nodiscard]] const HttpOptions& options() const { return options_; }

 private:
  HttpClient(const SluiceNetTable* table, HttpOptions options);
  void give_back(std::unique_ptr<HttpLane> lane);

  const SluiceNetTable* table_;
  HttpOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpLane>> idle_;  // the one used last is at the end
};

class HttpClient::Lease {
 public:
  Lease(HttpClient& client, std::unique_ptr<HttpLane> lane)
      : client_(&client), lane_(std::move(lane)) {}
  ~Lease();
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  HttpLane* operator->() const { return lane_.get(); }
  HttpLane& operator*() const { return *lane_; }

 private:
  HttpClient* client_;
  std::unique_ptr<HttpLane> lane_;
};

/// The Error of an exchange that brought no whole answer.
Error http_error(std::string_view what, HttpFault fault, std::string_view cause);

/// "photos.s3.amazonaws.com:443": what errors call the other side of an address.
std::string host_of(std::string_view url);

/// RFC 9110 date ("Sun, 06 Nov 1994 08:49:37 GMT") as Unix seconds.
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace sluice::storage
