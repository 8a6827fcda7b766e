// tests/storage/fault_server.h - an S3 server in the process of the test, with objects made from
// their name, which verifies signatures and misbehaves on demand. It can be one of Google's too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include "tests/storage/generated_objects.h"
#include "tests/storage/http_server.h"
#include "tests/storage/signature_check.h"
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::storage::testing {

enum class Fault {
  slow_down,            // 503 SlowDown (Google: 429), to this and the next requests: a burst
  truncated,            // the body ends early, in order (FIN)
  reset,                // the body ends early by RST
  slow_first_byte,      // nothing for slow_s
  wrong_content_range,  // 206, but of a range that lies one byte further on
  whole_object,         // 200 without Content-Range: all of the object
  range_with_200,       // 200 with the right Content-Range and bytes: odd, but good
  changed_etag,         // a new ETag each time, and the bytes of another version
  redirect,             // S3: in turn 307 with a Location here, 301 with x-amz-bucket-region
  clock_skew,           // S3: 403 RequestTimeTooSkewed with the Date of the server
  server_error,         // 500 InternalError (Google: 503)
  expired_token,        // Google: 401, and from now on another token is the good one
};
inline constexpr std::size_t kFaults = 12;
std::string to_string(Fault fault);
std::optional<Fault> parse_fault(std::string_view name);

enum class Protocol { s3, google };
/// What can go wrong in a protocol.
bool can_be(Fault fault, Protocol protocol);

struct FaultPlan {
  std::uint64_t seed = 0;
  std::array<double, kFaults> rate{};  // share of requests that are answered so, by kind
  int burst = 8;                       // requests refused in a row, of all connections together,
  double burst_s = 0.25;  // within this time: a client that waits finds the server well again
  double slow_s = 0.2;

  /// Every kind that can be with the same share; `total` is their sum.
  static FaultPlan uniform(double total, std::uint64_t seed, Protocol protocol = Protocol::s3);
};

struct FaultServerOptions {
  std::string bucket = "bucket";
  /// google: the JSON API, with bearer tokens that the metadata of an instance gives out, as far as
  /// reads of generated objects need it.
  Protocol protocol = Protocol::s3;
  SignatureRules signature{};
  GeneratedObjects generated{};
  FaultPlan faults{};
  std::int64_t clock_offset_s = 0;                 // of the server's clock to ours
  std::size_t page_size = 1000;                    // most keys in one answer to a listing
  bool honours_if_match = true;                    // rclone serve s3 does not
  std::function<void(const HttpRequest&)> seen{};  // called with each request before its answer
};

std::string xml_escaped(std::string_view text);
/// The version of an object as Google names it.
std::string generation_of(std::uint64_t version);

class FaultServer {
 public:
  explicit FaultServer(FaultServerOptions options);

  [[nodiscard]] std::string url() const { return http_.url(); }
  [[nodiscard]] int port() const { return http_.port(); }
  [[nodiscard]] const HttpServer& http() const { return http_; }

  /// A new ETag each time. Objects put in come before generated ones of the same name.
  void put(const std::string& key, std::string content);
  void remove(const std::string& key);
  /// All generated objects: other bytes and another ETag from now on.
  void set_version(std::uint64_t version) { version_ = version; }
  /// A token that was good is no longer.
  void expire(const std::string& key_id);

  /// The next `count` requests that can be answered so are, before what the plan says.
  void inject(Fault fault, std::uint64_t count = 1);
  void set_plan(const FaultPlan& plan);
  /// How many answers were of that kind so far.
  [[nodiscard]] std::uint64_t delivered(Fault fault) const;
  /// {"requests": ..., "faults": {"slow_down": ...}}
  [[nodiscard]] Json counters() const;

 private:
  struct Held {
    std::shared_ptr<const std::string> content;
    std::string etag;
  };
  /// One version of one object, made or held.
  struct Found {
    std::string key;
    std::uint64_t size = 0;
    std::string etag;
    std::uint64_t version = 0;
    std::shared_ptr<const std::string> content;  // null: generated

    void fill(std::uint64_t offset, std::span<std::byte> out) const;
  };
  struct Page {
    std::vector<Found> objects;
    bool truncated = false;
  };
  /// Bytes [begin, end) of an object; ranged: the request asked for a range.
  struct Wanted {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool ranged = false;
  };

  /// What can go wrong with an answer depends on what was asked for.
  enum class Asked { head, listing, object, range };
  struct Drawn {
    Fault fault;
    double where = 0.5;  // of the body, in [0, 1)
  };

  HttpReply handle(const HttpRequest& request);
  HttpReply handle_google(const HttpRequest& request);
  HttpReply faulty(const HttpRequest& request, const std::string& key, Asked asked);
  HttpReply answer(const HttpRequest& request, const std::string& key, Asked asked,
                   const std::optional<Drawn>& drawn);
  HttpReply list(const HttpRequest& request);
  HttpReply get(const HttpRequest& request, const std::string& key, std::optional<Fault> fault);
  Page page(const std::string& prefix, const std::string& after, std::size_t most) const;
  std::optional<Found> find(const std::string& key) const;
  static std::optional<Wanted> wanted(std::string_view range, std::uint64_t size);
  std::optional<Drawn> draw(Asked asked);
  bool can_be_now(Fault fault, Asked asked) const;
  std::optional<HttpReply> refuse(Fault fault, const HttpRequest& request);
  HttpReply error(int status, std::string_view code, std::string_view message) const;
  [[nodiscard]] std::int64_t now() const;

  FaultServerOptions options_;
  mutable std::mutex mutex_;  // all below
  std::map<std::string, Held> held_;
  std::uint64_t puts_ = 0;
  std::deque<Fault> injected_;
  int burst_left_ = 0;
  std::chrono::steady_clock::time_point burst_end_{};
  std::uint64_t draws_ = 0;
  std::uint64_t redirects_ = 0;
  std::uint64_t tokens_ = 0;  // Google's that have expired

  std::atomic<std::uint64_t> version_{0};
  std::atomic<std::uint64_t> changes_{0};
  std::array<std::atomic<std::uint64_t>, kFaults> delivered_{};
  HttpServer http_;  // last: it calls the rest
};

}  // namespace sluice::storage::testing
