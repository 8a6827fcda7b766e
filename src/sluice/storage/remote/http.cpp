// sluice/storage/remote/http.cpp - lanes, limits and whole answers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/http.h"

#include "sluice/core/module.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/storage/remote/net_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>

namespace sluice::storage {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A field longer than this is nothing that we read.
constexpr std::size_t kMaxField = 8192;
/// Less than this within stall_s counts as nothing: a trickle must not hold a reader for ever.
constexpr std::size_t kStallBytes = std::size_t{16} << 10;
constexpr std::size_t kMaxIdleLanes = 256;

constexpr std::array<std::string_view, kHttpFields> kFieldNames = {
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "x-goog-generation",
    "x-amz-bucket-region",
    "last-modified",
    "location",
    "retry-after",
    "x-goog-stored-content-encoding",
    "x-goog-stored-content-length",
};

Result<const SluiceNetTable*> load_net_table() {
  SLUICE_TRY(void* symbol, load_module("net", kSluiceNetSymbol));
  const auto* table = reinterpret_cast<SluiceNetTableFunction*>(symbol)();
  if (table == nullptr || table->abi != kSluiceNetAbi)
    return Error{Errc::unsupported,
                 fmt::format("libsluice_net.so has interface {}, this program needs {}",
                             table == nullptr ? 0 : table->abi, kSluiceNetAbi)};
  return table;
}

/// Loaded once; a failure is remembered as well.
Result<const SluiceNetTable*> net_table() {
  static const Result<const SluiceNetTable*> loaded = load_net_table();
  return loaded;
}

double since_s(SteadyTime start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool same_name(std::string_view a, std::string_view lower) {
  return std::ranges::equal(a, lower, [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
  });
}

HttpFault fault_of(std::int32_t code) {
  switch (code) {
    case kSluiceNetOk:
      return HttpFault::none;
    case kSluiceNetResolve:
      return HttpFault::resolve;
    case kSluiceNetConnect:
      return HttpFault::connect;
    case kSluiceNetTls:
      return HttpFault::tls;
    case kSluiceNetTruncated:
      return HttpFault::truncated;
    case kSluiceNetStopped:
      return HttpFault::stopped;
    case kSluiceNetInvalid:
      return HttpFault::invalid;
    case kSluiceNetProtocol:
      return HttpFault::protocol;
    default:
      return HttpFault::reset;
  }
}

/// No proxy stands between a machine and itself, or its own metadata service.
bool is_near(std::string_view host) {
  return host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]") ||
         host.starts_with("169.254.");
}

}  // namespace

struct HttpLane::Slot {
  HttpSink* sink = nullptr;  // nullptr: the slot is free
  HttpRequest request;
  HttpLimits limits;
  HttpHead head;
  bool head_done = false;
  SteadyTime start;
  SteadyTime last;             // from when on stall_s counts
  std::size_t since_last = 0;  // bytes
  double first_byte_s = -1;
  std::optional<HttpOutcome> outcome;

  void seen(std::size_t size) {
    since_last += size;
    if (first_byte_s >= 0 && since_last < kStallBytes) return;
    last = std::chrono::steady_clock::now();
    since_last = 0;
    if (first_byte_s < 0) first_byte_s = std::chrono::duration<double>(last - start).count();
  }
  std::int32_t take_line(std::string_view line);
  void read_field(std::string_view line);
  void finish(HttpFault fault, std::string cause, int new_connections) {
    outcome = HttpOutcome{fault,        std::move(cause), std::move(head),
                          first_byte_s, since_s(start),   new_connections};
    sink = nullptr;
  }
};

std::int32_t HttpLane::Slot::take_line(std::string_view line) {
  seen(line.size());
  line = trimmed(line);
  if (line.starts_with("HTTP/")) {  // also the second one, after an answer of 1xx
    head = HttpHead{};
    head_done = false;
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos)
      std::from_chars(line.data() + space + 1, line.data() + line.size(), head.status);
    return 0;
  }
  if (!line.empty()) {
    if (!head_done) read_field(line);  // later ones are trailers
    return 0;
  }
  if (head.status < 200 || head_done) return 0;
  head_done = true;
  return sink->head(head) ? 0 : 1;
}

void HttpLane::Slot::read_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.size() > kMaxField) return;
  for (std::size_t i = 0; i < kHttpFields; ++i)
    if (same_name(line.substr(0, colon), kFieldNames[i]))
      head.fields[i] = trimmed(line.substr(colon + 1));
}

HttpLane::HttpLane(const SluiceNetTable* table, SluiceNetLane* lane, std::string ca_file)
    : table_(table), lane_(lane), ca_file_(std::move(ca_file)) {
  for (auto& slot : slots_)
    slot = std::make_unique<Slot>();
}

HttpLane::~HttpLane() {
  table_->close(lane_);
}

void HttpLane::start(int number, HttpRequest request, HttpSink& sink, const HttpLimits& limits) {
  Slot& slot = *slots_[static_cast<std::size_t>(number)];
  slot = Slot{};
  slot.sink = &sink;
  slot.request = std::move(request);
  slot.limits = limits;
  slot.start = slot.last = std::chrono::steady_clock::now();

  std::vector<const char*> headers;
  headers.reserve(slot.request.headers.size());
  for (const std::string& header : slot.request.headers)
    headers.push_back(header.c_str());
  const SluiceNetRequest net_request{
      .method = slot.request.method.c_str(),
      .url = slot.request.url.c_str(),
      .headers = headers.data(),
      .header_count = headers.size(),
      .body = slot.request.body.data(),
      .body_size = slot.request.body.size(),
      .ca_file = ca_file_.empty() ? nullptr : ca_file_.c_str(),
      .connect_ms = static_cast<std::int64_t>(limits.connect_s * 1000),
      .fresh = slot.request.fresh ? 1 : 0,
      .unproxied = is_near(host_of(slot.request.url)) ? 1 : 0,
  };
  const SluiceNetSink net_sink{
      .user = &slot,
      .line = [](void* user, const char* text, std::size_t size) -> std::int32_t {
        return static_cast<Slot*>(user)->take_line({text, size});
      },
      .body = [](void* user, const void* bytes, std::size_t size) -> std::int32_t {
        auto& self = *static_cast<Slot*>(user);
        self.seen(size);
        return self.sink->body({static_cast<const std::byte*>(bytes), size}) ? 0 : 1;
      },
  };
  const std::int32_t code = table_->start(lane_, number, &net_request, &net_sink);
  if (code != kSluiceNetOk)
    slot.finish(fault_of(code), code == kSluiceNetInvalid ? "not an address" : "out of memory", 0);
}

void HttpLane::check_limits(Slot& slot, int number) {
  const double limit = slot.first_byte_s < 0 ? slot.limits.first_byte_s : slot.limits.stall_s;
  if (slot.sink == nullptr || since_s(slot.last) < limit) return;
  table_->stop(lane_, number);
  if (slot.first_byte_s < 0)
    slot.finish(HttpFault::first_byte, fmt::format("no answer within {:g} s", limit), 0);
  else
    slot.finish(HttpFault::stall, fmt::format("nothing more for {:g} s", limit), 0);
}

void HttpLane::poll(double wait_s) {
  for (const auto& slot : slots_)
    if (slot->outcome) wait_s = 0;
  const std::int32_t code =
      table_->poll(lane_, static_cast<std::int32_t>(std::max(0.0, wait_s * 1000)));
  for (int number = 0; number < kSlots; ++number) {
    Slot& slot = *slots_[static_cast<std::size_t>(number)];
    if (slot.sink == nullptr) continue;
    SluiceNetOutcome outcome{};
    if (table_->ended(lane_, number, &outcome) != 0) {
      slot.finish(fault_of(outcome.code), printable(outcome.text), outcome.new_connections);
    } else if (code != kSluiceNetOk) {
      table_->stop(lane_, number);
      slot.finish(HttpFault::reset, "out of memory", 0);
    } else {
      check_limits(slot, number);
    }
  }
}

std::optional<HttpOutcome> HttpLane::ended(int number) {
  return std::exchange(slots_[static_cast<std::size_t>(number)]->outcome, std::nullopt);
}

double HttpLane::elapsed_s(int number) const {
  return since_s(slots_[static_cast<std::size_t>(number)]->start);
}

void HttpLane::stop(int number) {
  Slot& slot = *slots_[static_cast<std::size_t>(number)];
  if (slot.sink != nullptr) table_->stop(lane_, number);
  slot.sink = nullptr;
  slot.outcome.reset();
}

HttpClient::HttpClient(const SluiceNetTable* table, HttpOptions options)
    : table_(table), options_(std::move(options)) {}

HttpClient::~HttpClient() = default;

Result<std::shared_ptr<HttpClient>> HttpClient::open(const HttpOptions& options) {
  SLUICE_TRY(const SluiceNetTable* table, net_table());
  return std::shared_ptr<HttpClient>(new HttpClient(table, options));
}

Result<HttpClient::Lease> HttpClient::lane() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      auto lane = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(lane));
    }
  }
  SluiceNetLane* raw = table_->open();
  if (raw == nullptr) return Error{Errc::io, "cannot open a connection: out of memory"};
  return Lease(*this, std::make_unique<HttpLane>(table_, raw, options_.ca_file));
}

void HttpClient::give_back(std::unique_ptr<HttpLane> lane) {
  for (int slot = 0; slot < HttpLane::kSlots; ++slot)
    lane->stop(slot);
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < kMaxIdleLanes) idle_.push_back(std::move(lane));
}

HttpClient::Lease::~Lease() {
  if (lane_) client_->give_back(std::move(lane_));
}

namespace {

class WholeBody final : public HttpSink {
 public:
  explicit WholeBody(std::size_t limit) : limit_(limit) {}
  bool head(const HttpHead&) override { return true; }
  bool body(std::span<const std::byte> bytes) override {
    if (bytes.size() > limit_ - text_.size()) return false;
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }
  std::string take() { return std::move(text_); }

 private:
  std::size_t limit_;
  std::string text_;
};

}  // namespace

Result<HttpReply> HttpClient::call(HttpRequest request, std::size_t max_body,
                                   const std::atomic<bool>* cancel) {
  return call(std::move(request), max_body, options_.limits, cancel);
}

HttpExchange HttpClient::exchange(HttpRequest request, std::size_t max_body,
                                  const HttpLimits& limits, const std::atomic<bool>* cancel) {
  HttpExchange result;
  auto leased = lane();
  if (!leased) {
    result.outcome.fault = HttpFault::connect;
    result.outcome.cause = "out of memory";
    return result;
  }
  HttpLane& own = **leased;
  WholeBody sink(max_body);
  own.start(0, std::move(request), sink, limits);
  while (true) {
    own.poll(kCancelCheck_s);
    if (stop_requested() || (cancel != nullptr && cancel->load(std::memory_order_relaxed))) {
      result.outcome.fault = HttpFault::cancelled;
      return result;
    }
    if (auto outcome = own.ended(0)) {
      result.outcome = std::move(*outcome);
      break;
    }
  }
  if (result.outcome.fault == HttpFault::stopped) {
    result.outcome.fault = HttpFault::too_long;
    result.outcome.cause = fmt::format("more than {} bytes", max_body);
  }
  result.body = sink.take();
  return result;
}

Result<HttpReply> HttpClient::call(HttpRequest request, std::size_t max_body,
                                   const HttpLimits& limits, const std::atomic<bool>* cancel) {
  const std::string host = host_of(request.url);
  HttpExchange done = exchange(std::move(request), max_body, limits, cancel);
  if (done.outcome.fault != HttpFault::none)
    return http_error(host, done.outcome.fault, done.outcome.cause);
  return HttpReply{std::move(done.outcome.head), std::move(done.body), done.outcome.first_byte_s,
                   done.outcome.total_s, done.outcome.new_connections};
}

}  // namespace sluice::storage
