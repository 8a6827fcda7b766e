// sluice/storage/remote/range_transfer.cpp - checks of a head, and two requests that race.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/range_transfer.h"

#include "sluice/core/stop.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sluice::storage {

namespace {

constexpr std::size_t kMaxErrorBody = std::size_t{64} << 10;

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash)
    return std::nullopt;
  const auto first = parse_u64(text.substr(0, dash));
  const auto last = parse_u64(text.substr(dash + 1, slash - dash - 1));
  const auto total = parse_u64(text.substr(slash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  if (!total && text.substr(slash + 1) != "*") return std::nullopt;
  return ContentRange{*first, *last, total};
}

RangeSink::RangeSink(const Dialect& dialect, const Object& object, std::uint64_t offset,
                     std::span<std::byte> out)
    : dialect_(dialect), object_(object), offset_(offset), out_(out) {}

std::string RangeSink::check_range(const HttpHead& head) {
  const std::string& text = head[HttpField::content_range];
  const auto length = parse_u64(head[HttpField::content_length]);
  if (text.empty()) {
    if (head.status == 206) return "206 without Content-Range";
    // The whole object: what lies before the range is passed over.
    if (length && *length != object_.size)
      return fmt::format("{} bytes where the object has {}", *length, object_.size);
    skip_ = offset_;
    return {};
  }
  const auto range = parse_content_range(text);
  if (!range || range->first != offset_ || range->last - range->first + 1 != out_.size())
    return fmt::format("Content-Range {} where bytes {}-{} were asked for", printable(text),
                       offset_, offset_ + out_.size() - 1);
  if (length && *length != out_.size())
    return fmt::format("a Content-Length of {} where {} bytes were asked for", *length,
                       out_.size());
  if (range->total && *range->total != object_.size)
    return fmt::format("an object of {} bytes where it has {}", *range->total, object_.size);
  return {};
}

std::string RangeSink::check(const HttpHead& head) {
  version_ = dialect_.version_of(head);
  if (object_.version.empty() || version_ == object_.version) return check_range(head);
  other_version_ = version_.empty() ? "none" : version_;
  return fmt::format("version {} where {} was asked for", printable(other_version_),
                     printable(object_.version));
}

bool RangeSink::head(const HttpHead& head) {
  refused_ = head.status != 200 && head.status != 206;
  if (refused_) return true;
  mismatch_ = check(head);
  return mismatch_.empty();
}

bool RangeSink::body(std::span<const std::byte> bytes) {
  if (refused_) {
    const std::size_t room = kMaxErrorBody - error_body_.size();
    error_body_.append(reinterpret_cast<const char*>(bytes.data()), std::min(room, bytes.size()));
    return room >= bytes.size();
  }
  if (skip_ > 0) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
    skip_ -= part;
    dropped_ += part;
    bytes = bytes.subspan(part);
  }
  const std::size_t part = std::min(bytes.size(), out_.size() - received_);
  if (part > 0) std::memcpy(out_.data() + received_, bytes.data(), part);
  received_ += part;
  dropped_ += bytes.size() - part;
  return part == bytes.size();  // more than was asked for: the rest of a whole object
}

namespace {

/// Two requests for the same bytes: the second starts where the first had got to.
class Race {
 public:
  Race(HttpLane& lane, const RangeTask& task) : lane_(lane), task_(task) {}
  ~Race() {
    lane_.stop(0);
    lane_.stop(1);
  }
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;

  Result<RangeAttempt> run();

 private:
  Status start(int slot, std::size_t from);
  void consider_hedge();
  bool finish(int slot);
  [[nodiscard]] std::size_t reached() const;
  void settle();

  struct Runner {
    std::optional<RangeSink> sink;
    std::size_t from = 0;  // of out
    bool running = false;
  };
  HttpLane& lane_;
  const RangeTask& task_;
  std::array<Runner, 2> runners_;
  double hedge_after_s_ = -1;
  RangeAttempt result_;
};

Status Race::start(int slot, std::size_t from) {
  Runner& runner = runners_[static_cast<std::size_t>(slot)];
  const auto out = task_.out.subspan(from);
  SLUICE_TRY(HttpRequest request, task_.dialect.get(task_.object, task_.offset + from, out.size()));
  request.fresh = task_.fresh;
  runner.sink.emplace(task_.dialect, task_.object, task_.offset + from, out);
  runner.from = from;
  runner.running = true;
  ++result_.requests;
  lane_.start(slot, std::move(request), *runner.sink, task_.limits);
  return ok;
}

void Race::consider_hedge() {
  if (hedge_after_s_ < 0 || lane_.elapsed_s(0) < hedge_after_s_) return;
  hedge_after_s_ = -1;  // once
  if (!task_.hedge->take()) return;
  result_.hedged = start(1, runners_[0].sink->received()).has_value();
}

std::size_t Race::reached() const {
  std::size_t most = 0;
  for (const Runner& runner : runners_)
    if (runner.sink) most = std::max(most, runner.from + runner.sink->received());
  return most;
}

/// True when the answer is whole.
bool Race::finish(int slot) {
  auto outcome = lane_.ended(slot);
  if (!outcome) return false;
  Runner& runner = runners_[static_cast<std::size_t>(slot)];
  runner.running = false;
  result_.connections += outcome->new_connections;
  if (runner.sink->whole()) {
    result_.first_byte_s = outcome->first_byte_s;
    result_.total_s = lane_.elapsed_s(0);
    result_.hedge_won = slot == 1;
    return true;
  }
  result_.outcome = std::move(*outcome);
  result_.mismatch = runner.sink->mismatch();
  result_.other_version = runner.sink->other_version();
  result_.error_body = runner.sink->error_body();
  return false;
}

void Race::settle() {
  result_.received = reached();
  result_.version = runners_[0].sink->version();
  std::uint64_t came = 0;
  for (const Runner& runner : runners_)
    if (runner.sink) came += runner.sink->received() + runner.sink->dropped();
  result_.wasted = came - result_.received;
}

Result<RangeAttempt> Race::run() {
  SLUICE_CHECK(start(0, 0));
  if (task_.hedge != nullptr && !task_.object.version.empty())
    hedge_after_s_ = task_.hedge->after_s(task_.out.size());
  while (true) {
    double wait_s = kCancelCheck_s;
    if (hedge_after_s_ >= 0)
      wait_s = std::clamp(hedge_after_s_ - lane_.elapsed_s(0), 0.001, kCancelCheck_s);
    lane_.poll(wait_s);
    if (stop_requested() || task_.cancel.load(std::memory_order_relaxed)) {
      result_.outcome.fault = HttpFault::cancelled;
      break;
    }
    if (finish(0) || (runners_[1].running && finish(1))) break;
    if (!runners_[0].running && !runners_[1].running) break;
    if (runners_[0].running) consider_hedge();
  }
  settle();
  return std::move(result_);
}

}  // namespace

Result<RangeAttempt> attempt_range(HttpLane& lane, const RangeTask& task) {
  Race race(lane, task);
  return race.run();
}

}  // namespace sluice::storage
