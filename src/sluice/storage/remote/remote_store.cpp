// sluice/storage/remote/remote_store.cpp - requests with their retries, and what came of them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/remote_store.h"

#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/storage/remote/counters.h"
#include "sluice/storage/remote/listing_check.h"
#include "sluice/storage/remote/range_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>

namespace sluice::storage {

namespace {

/// A page of 1,000 keys of 1,024 bytes, every byte written as %XX, and what is around them.
constexpr std::size_t kMaxAnswer = std::size_t{16} << 20;
constexpr std::size_t kRequestBytes = std::size_t{8}
                                      << 20;  // its transfer outweighs the wait for the first byte

std::uint64_t add(RemoteCounters::Count& count, std::uint64_t n) {
  return count.fetch_add(n, std::memory_order_relaxed);
}

/// Why one attempt failed.
struct Failure {
  std::optional<RetryCause> retry{};  // nothing: final
  Errc code = Errc::io;
  std::string cause;
  double retry_after_s = -1;
  bool progress = false;  // something came before it failed
};

Failure fault_failure(HttpFault fault, const std::string& detail) {
  Failure failure;
  failure.cause = detail.empty() ? std::string(to_string(fault))
                                 : fmt::format("{} ({})", to_string(fault), detail);
  switch (fault) {
    case HttpFault::resolve:
    case HttpFault::connect:
      failure.retry = RetryCause::connect;
      break;
    case HttpFault::first_byte:
    case HttpFault::stall:
      failure.retry = RetryCause::timeout;
      failure.code = Errc::timeout;
      break;
    case HttpFault::none:  // the end of a connection was the end of the body
    case HttpFault::truncated:
      failure.retry = RetryCause::truncated;
      failure.cause = "truncated answer";
      break;
    case HttpFault::reset:
      failure.retry = RetryCause::reset;
      break;
    case HttpFault::protocol:
    case HttpFault::too_long:
      failure.retry = RetryCause::protocol;
      failure.code = Errc::invalid_input;
      break;
    case HttpFault::cancelled:
      failure.code = Errc::interrupted;
      break;
    case HttpFault::stopped:
    case HttpFault::invalid:
    case HttpFault::tls:
      break;
  }
  return failure;
}

Failure refusal_failure(Dialect& dialect, const HttpHead& head, std::string_view body) {
  Refusal refusal = dialect.refuse(head, body);
  Failure failure{refusal.retry, refusal.code, std::move(refusal.cause)};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  failure.retry_after_s = parse_retry_after(
      head[HttpField::retry_after], std::chrono::duration_cast<std::chrono::seconds>(now).count());
  return failure;
}

class RemoteStore final : public ObjectStore {
 public:
  RemoteStore(std::unique_ptr<Dialect> dialect, const RemoteOptions& options,
              std::shared_ptr<HttpClient> client)
      : dialect_(std::move(dialect)), options_(options), client_(std::move(client)) {}

  [[nodiscard]] std::string name() const override { return dialect_->name(); }
  Status list(std::string_view prefix, const Page& page) override;
  Result<Object> stat(std::string_view key) override;
  Result<std::span<const std::byte>> read(const Object& object, std::uint64_t offset,
                                          std::size_t size, ReadBuffer& buffer) override;
  [[nodiscard]] std::size_t request_bytes() const override { return kRequestBytes; }
  void cancel() override;
  [[nodiscard]] Json counters() const override { return counters_.json(); }

 private:
  class Attempts;
  Status fetch(const Object& object, std::uint64_t offset, std::span<std::byte> out);
  Result<HttpReply> whole(const std::string& what, const std::function<Result<HttpRequest>()>& make,
                          const std::function<Status(const HttpReply&)>& accept);
  void count(const RangeAttempt& attempt, std::size_t size);
  Failure failure_of(const RangeAttempt& attempt);
  bool wait(double seconds);
  /// By whoever owns the store, or by the user.
  [[nodiscard]] bool cancelled() const {
    return cancelled_.load(std::memory_order_relaxed) || stop_requested();
  }

  std::unique_ptr<Dialect> dialect_;
  RemoteOptions options_;
  std::shared_ptr<HttpClient> client_;
  RetryBudget budget_;
  HedgePolicy hedge_;
  RemoteCounters counters_;
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable woken_;
};

/// The retries of one call.
class RemoteStore::Attempts {
 public:
  Attempts(RemoteStore& store, std::string what)
      : store_(store),
        what_(std::move(what)),
        rng_(RngKey{.seed = store.options_.seed, .index = add_sequence(store)}) {}

  /// Whether the next attempt wants a new connection.
  [[nodiscard]] bool fresh() const { return fresh_; }
  /// Waits for the next attempt, or says why there is none.
  Status next(const Failure& failure);
  void succeeded() { store_.budget_.earn(spent_); }
  Error error(Errc code, std::string_view cause) const {
    add(store_.counters_.failures, 1);
    if (code == Errc::interrupted) return Error{code, fmt::format("{}: cancelled", what_)};
    return Error{code,
                 fmt::format("{}: {}, {} attempt{}", what_, cause, made_, made_ == 1 ? "" : "s")};
  }

 private:
  static std::uint64_t add_sequence(RemoteStore& store) {
    return store.sequence_.fetch_add(1, std::memory_order_relaxed);
  }

  RemoteStore& store_;
  std::string what_;
  Rng rng_;
  int made_ = 1;      // attempts, the one under way included
  int failures_ = 0;  // since something last came
  std::int64_t spent_ = 0;
  bool fresh_ = false;
};

Status RemoteStore::Attempts::next(const Failure& failure) {
  if (!failure.retry) return error(failure.code, failure.cause);
  const RetryCause cause = *failure.retry;
  if (made_ >= store_.options_.retry.max_attempts) return error(failure.code, failure.cause);
  if (!store_.budget_.spend(cause))
    return error(failure.code, failure.cause + ", no retries left in the budget of all requests");
  spent_ += RetryBudget::cost(cause);
  add(store_.counters_.retries[static_cast<std::size_t>(cause)], 1);
  failures_ = failure.progress && cause != RetryCause::throttled ? 0 : failures_ + 1;
  fresh_ = cause == RetryCause::connect || cause == RetryCause::timeout ||
           cause == RetryCause::reset || cause == RetryCause::truncated ||
           cause == RetryCause::server;
  const double delay_s =
      retry_delay_s(store_.options_.retry, cause, failures_, failure.retry_after_s, rng_);
  if (!store_.wait(delay_s)) return error(Errc::interrupted, "");
  ++made_;
  return ok;
}

/// False: cancelled.
bool RemoteStore::wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::unique_lock lock(mutex_);
  while (!cancelled()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return true;
    // A signal wakes nobody: the wait is taken in parts.
    woken_.wait_for(lock, std::min<std::chrono::duration<double>>(left, kStopCheck));
  }
  return false;
}

void RemoteStore::cancel() {
  {
    const std::scoped_lock lock(mutex_);
    cancelled_.store(true, std::memory_order_relaxed);
  }
  woken_.notify_all();
}

/// A request whose answer is taken whole; `accept` returns an Error for one that makes no sense.
Result<HttpReply> RemoteStore::whole(const std::string& what,
                                     const std::function<Result<HttpRequest>()>& make,
                                     const std::function<Status(const HttpReply&)>& accept) {
  Attempts attempts(*this, what);
  while (true) {
    if (cancelled()) return attempts.error(Errc::interrupted, "");
    SLUICE_TRY(HttpRequest request, make());
    request.fresh = attempts.fresh();
    add(counters_.requests, 1);
    HttpExchange done =
        client_->exchange(std::move(request), kMaxAnswer, options_.http.limits, &cancelled_);
    add(counters_.connections, static_cast<std::uint64_t>(done.outcome.new_connections));
    Failure failure;
    if (done.outcome.fault != HttpFault::none) {
      failure = fault_failure(done.outcome.fault, done.outcome.cause);
    } else if (done.outcome.head.status != 200) {
      failure = refusal_failure(*dialect_, done.outcome.head, done.body);
    } else {
      HttpReply reply{std::move(done.outcome.head), std::move(done.body), done.outcome.first_byte_s,
                      done.outcome.total_s, done.outcome.new_connections};
      const Status accepted = accept(reply);
      if (accepted) {
        attempts.succeeded();
        return reply;
      }
      failure = {RetryCause::protocol, accepted.error().code, accepted.error().message};
    }
    SLUICE_CHECK(attempts.next(failure));
  }
}

Result<Object> RemoteStore::stat(std::string_view key) {
  Object object;
  SLUICE_CHECK(whole(
      dialect_->name(key), [&] { return dialect_->stat(key); },
      [&](const HttpReply& reply) -> Status {
        SLUICE_TRY(object, dialect_->parse_stat(key, reply));
        if (object.size > kMaxObjectBytes)
          return Error{Errc::invalid_input,
                       fmt::format("has {} bytes; {} are accepted", object.size, kMaxObjectBytes)};
        return ok;
      }));
  return object;
}

Status RemoteStore::list(std::string_view prefix, const Page& page) {
  const std::string what = prefix.empty() ? name() : dialect_->name(prefix);
  std::string token;
  ListingCheck check;
  do {
    ListPage part;
    SLUICE_CHECK(whole(
        what, [&] { return dialect_->list(prefix, token); },
        [&](const HttpReply& reply) -> Status {
          SLUICE_TRY(part, dialect_->parse_list(reply));
          return check.take(part);
        }));
    if (const Status going = check.advance(part); !going)
      return Error{going.error().code, fmt::format("{}: {}", what, going.error().message)};
    if (!part.objects.empty()) SLUICE_CHECK(page(part.objects));
    token = std::move(part.next);
  } while (!token.empty());
  return ok;
}

Result<std::span<const std::byte>> RemoteStore::read(const Object& object, std::uint64_t offset,
                                                     std::size_t size, ReadBuffer& buffer) {
  if (offset > object.size || size > object.size - offset)
    return Error{Errc::invalid_input,
                 fmt::format("{}: bytes {} to {} asked for, it has {}", dialect_->name(object.key),
                             offset, offset + size, object.size)};
  std::span<std::byte> out;
  try {  // a size is what a server says
    out = buffer.take(size);
  } catch (const std::bad_alloc&) {
    return Error{Errc::io,
                 fmt::format("{}: no memory for {} bytes", dialect_->name(object.key), size)};
  }
  if (size > 0) SLUICE_CHECK(fetch(object, offset, out));
  return std::span<const std::byte>(out);
}

void RemoteStore::count(const RangeAttempt& attempt, std::size_t size) {
  add(counters_.requests, static_cast<std::uint64_t>(attempt.requests));
  add(counters_.connections, static_cast<std::uint64_t>(attempt.connections));
  add(counters_.bytes, attempt.received);
  if (attempt.wasted > 0) add(counters_.bytes_wasted, attempt.wasted);
  if (attempt.hedged) add(counters_.hedges, 1);
  if (attempt.hedge_won) add(counters_.hedges_won, 1);
  if (attempt.received < size) return;
  counters_.first_byte.add(attempt.first_byte_s);
  counters_.total.add(attempt.total_s);
  hedge_.add(size, attempt.total_s);
}

Failure RemoteStore::failure_of(const RangeAttempt& attempt) {
  const HttpOutcome& outcome = attempt.outcome;
  const int status = outcome.head.status;
  if (!attempt.mismatch.empty())
    return {RetryCause::mismatch, Errc::invalid_input, "the answer has " + attempt.mismatch};
  const bool answered = outcome.fault == HttpFault::none || outcome.fault == HttpFault::stopped;
  if (answered && status != 200 && status != 206)
    return refusal_failure(*dialect_, outcome.head, attempt.error_body);
  Failure failure = fault_failure(outcome.fault, outcome.cause);
  failure.progress = attempt.received > 0;
  return failure;
}

Status RemoteStore::fetch(const Object& object, std::uint64_t offset, std::span<std::byte> out) {
  Attempts attempts(*this, dialect_->name(object.key));
  std::optional<Object> pinned;  // what was read without a version goes on with the one it began
  std::string changed;           // the other version that the last answer was of
  while (true) {
    if (cancelled()) return attempts.error(Errc::interrupted, "");
    SLUICE_TRY(auto lane, client_->lane());
    SLUICE_TRY(const RangeAttempt attempt,
               attempt_range(*lane, {.dialect = *dialect_,
                                     .object = pinned ? *pinned : object,
                                     .offset = offset,
                                     .out = out,
                                     .fresh = attempts.fresh(),
                                     .hedge = options_.hedge ? &hedge_ : nullptr,
                                     .limits = options_.http.limits,
                                     .cancel = cancelled_}));
    count(attempt, out.size());
    offset += attempt.received;
    out = out.subspan(attempt.received);
    if (out.empty()) break;
    if (object.version.empty() && !pinned && attempt.received > 0)
      pinned = Object{object.key, object.size, attempt.version};
    Failure failure = failure_of(attempt);
    // Once it may be an answer from somewhere stale; twice the same is a new object.
    if (!attempt.other_version.empty() && attempt.other_version == changed) failure.retry.reset();
    changed = attempt.other_version;
    SLUICE_CHECK(attempts.next(failure));
  }
  attempts.succeeded();
  add(counters_.reads, 1);
  return ok;
}

}  // namespace

Json RemoteCounters::json() const {
  const auto value = [](const Count& count) { return count.load(std::memory_order_relaxed); };
  Json by_cause = Json::object();
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < kRetryCauses; ++i) {
    all += value(retries[i]);
    by_cause[std::string(to_string(static_cast<RetryCause>(i)))] = value(retries[i]);
  }
  return {
      {"requests", value(requests)},
      {"reads", value(reads)},
      {"bytes", value(bytes)},
      {"bytes_wasted", value(bytes_wasted)},
      {"connections", value(connections)},
      {"retries", all},
      {"retries_by_cause", std::move(by_cause)},
      {"throttles", value(retries[static_cast<std::size_t>(RetryCause::throttled)])},
      {"hedges", value(hedges)},
      {"hedges_won", value(hedges_won)},
      {"failures", value(failures)},
      {"first_byte_s", {{"p50", first_byte.quantile(0.5)}, {"p99", first_byte.quantile(0.99)}}},
      {"total_s", {{"p50", total.quantile(0.5)}, {"p99", total.quantile(0.99)}}},
  };
}

Result<std::unique_ptr<ObjectStore>> open_remote(std::unique_ptr<Dialect> dialect,
                                                 const RemoteOptions& options) {
  SLUICE_TRY(auto client, HttpClient::open(options.http));
  return std::unique_ptr<ObjectStore>(
      std::make_unique<RemoteStore>(std::move(dialect), options, std::move(client)));
}

}  // namespace sluice::storage
