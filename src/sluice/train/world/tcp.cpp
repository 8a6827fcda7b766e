// sluice/train/world/tcp.cpp - who comes, what is said, and who does not answer.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/tcp.h"

#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/train/phase.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

namespace sluice::train {
namespace {

constexpr double kGoodbye_s = 10;      // for ranks that were told to end
constexpr double kHello_s = 5;         // for whoever has connected to say who it is
constexpr double kRank0Speaks_s = 10;  // after others lost patience: it lost its own, and says why

double hello_limit_s(const WorldOptions& options) {
  return std::min(kHello_s, options.timeout_s);
}

/// After which a machine counts as lost: a rank of it would long be late.
double silence_of(const WorldOptions& options) {
  return 2 * options.timeout_s;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A word that only those know whom we start.
std::string new_key() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}", device(), device(), device());
}

}  // namespace

TcpWorld::TcpWorld(int rank, int size, const WorldOptions& options)
    : rank_(rank), size_(size), options_(options), arrivals_(static_cast<std::size_t>(size), 0) {}

bool TcpWorld::started(const Variables& variables) {
  return variables(kWorldKey).has_value();
}

Result<std::unique_ptr<TcpWorld>> TcpWorld::start(int size, const std::vector<std::string>& command,
                                                  const WorldOptions& options) {
  const std::string address = "127.0.0.1";
  std::unique_ptr<TcpWorld> world(new TcpWorld(0, size, options));
  SLUICE_TRY(Door door, Door::open(address, 0));
  const std::string key = new_key();
  for (int rank = 1; rank < size; ++rank) {
    ProcessOptions one;
    one.command = command;
    one.environment = {{"RANK", std::to_string(rank)},
                       {"WORLD_SIZE", std::to_string(size)},
                       {"LOCAL_RANK", std::to_string(rank)},
                       {"MASTER_ADDR", address},
                       {kWorldPort, std::to_string(door.port())},
                       {kWorldKey, key}};
    one.descriptors = {{STDERR_FILENO, STDERR_FILENO}};
    SLUICE_TRY(Process process, Process::start(one));
    world->started_.push_back(std::move(process));
  }
  SLUICE_CHECK(world->let_in(door, key));
  return world;
}

Result<std::unique_ptr<TcpWorld>> TcpWorld::join(const LaunchedRank& launched,
                                                 const WorldOptions& options,
                                                 const Variables& variables) {
  SLUICE_TRY(const Meeting meeting, meeting_of(launched, variables));
  std::unique_ptr<TcpWorld> world(new TcpWorld(launched.rank, launched.size, options));
  world->local_rank_ = launched.local_rank;
  if (launched.rank > 0) {
    SLUICE_CHECK(world->call_rank_0(meeting));
    return world;
  }
  SLUICE_TRY(Door door, Door::open(meeting.address, meeting.port));
  SLUICE_CHECK(world->let_in(door, meeting.key));
  return world;
}

TcpWorld::~TcpWorld() {
  for (Process& one : started_)
    if (!failed_) one.wait(kGoodbye_s);  // then it is killed
}

Status TcpWorld::call_rank_0(const Meeting& meeting) {
  SLUICE_TRY(Link link, call(meeting.address, meeting.port, options_.timeout_s));
  link.expect_signs(silence_of(options_));
  links_.push_back(std::move(link));
  const Json hello{{"rank", rank_}, {"size", size_}, {"key", meeting.key}};
  // Whoever closes before it has read this is no rank 0: found where its answer is awaited.
  (void)links_.front().send(static_cast<std::uint32_t>(Kind::hello), bytes_of(dump_json(hello)),
                            options_.timeout_s);
  return await_welcome(meeting);
}

/// Rank 0 waits for the slowest as long as this one for rank 0, and may listen to a last stranger.
/// Whoever else has the port may say nothing, ever.
Status TcpWorld::await_welcome(const Meeting& meeting) {
  const double limit_s = options_.timeout_s + hello_limit_s(options_);
  const auto frame = links_.front().receive(limit_s);
  if (frame && frame->kind == static_cast<std::uint32_t>(Kind::welcome)) return ok;
  failed_ = true;
  if (frame && frame->kind == static_cast<std::uint32_t>(Kind::gave_up))
    return gave_up(0, frame->bytes);
  const std::string found = frame ? "another word came"
                            : frame.error().code == Errc::timeout
                                ? fmt::format("{} within {:g} s", frame.error().message, limit_s)
                                : frame.error().message;
  return Error{
      Errc::usage,
      fmt::format("rank {} of {} is not let in at {} port {}: {}; rank 0 of the same ranks "
                  "must listen there, SLUICE_WORLD_PORT names another port",
                  rank_, size_, printable(meeting.address), meeting.port, found)};
}

/// Those who came hear why it ends, if it does.
Status TcpWorld::let_in(Door& door, const std::string& key) {
  std::vector<std::optional<Link>> come(static_cast<std::size_t>(size_));
  const Status all = await_all(door, key, come);
  for (auto& link : come)
    if (link && !all) say_why(*link, all.error());
  SLUICE_CHECK(all);
  for (std::size_t rank = 1; rank < come.size(); ++rank) {
    come[rank]->expect_signs(silence_of(options_));
    links_.push_back(std::move(*come[rank]));
  }
  for (int rank = 1; rank < size_; ++rank)
    SLUICE_CHECK(send(rank, Kind::welcome, {}));
  return ok;
}

/// Everyone of the world, once. Who does not know the key is not of it.
Status TcpWorld::await_all(Door& door, const std::string& key,
                           std::vector<std::optional<Link>>& come) {
  const std::int64_t start_ns = now_ns();
  for (int missing = size_ - 1; missing > 0;) {
    const double left = options_.timeout_s - static_cast<double>(now_ns() - start_ns) / 1e9;
    SLUICE_TRY(auto link, door.next(std::max(left, 0.0)));
    if (!link) {
      std::vector<std::size_t> absent;
      for (std::size_t rank = 1; rank < come.size(); ++rank)
        if (!come[rank]) absent.push_back(rank);
      return Error{Errc::measurement,
                   fmt::format("rank {} of {} did not come within {:g} s", fmt::join(absent, ", "),
                               size_, options_.timeout_s)};
    }
    const auto frame = link->receive(hello_limit_s(options_));
    if (!frame || frame->kind != static_cast<std::uint32_t>(Kind::hello)) continue;
    const Json hello = Json::parse(frame->bytes, nullptr, false);
    if (!hello.is_object() || at(hello, "key") != key) continue;
    SLUICE_TRY(const std::size_t rank, place_of(hello, *link, come));
    come[rank] = std::move(*link);
    --missing;
  }
  return ok;
}

/// The number of a rank that says hello; it hears of an error, as rank 0 does.
Result<std::size_t> TcpWorld::place_of(const Json& hello, Link& link,
                                       const std::vector<std::optional<Link>>& come) {
  const Json& size = at(hello, "size");
  const Json& rank = at(hello, "rank");
  Error error{Errc::usage, {}};
  if (size != size_ || !rank.is_number_integer() || rank < 1 || rank >= size_)
    error.message = fmt::format("rank {} counts {} ranks, rank 0 {}", printable(rank.dump()),
                                printable(size.dump()), size_);
  else if (come[rank.get<std::size_t>()])
    error.message = fmt::format("rank {} of {} came twice", rank.get<int>(), size_);
  else
    return rank.get<std::size_t>();
  say_why(link, error);
  return error;
}

Error TcpWorld::lost(int other, const Error& error) {
  failed_ = true;
  spoken_for_ = rank_ > 1;  // who waits for rank 0 in vain; rank 1 says so
  if (error.code == Errc::timeout)
    return {Errc::measurement,
            rank_ == 0
                ? fmt::format("rank {} of {} did not come to the end of its step within {:g} s",
                              other, size_, options_.timeout_s)
                : fmt::format("rank {} of {} waited {:g} s for rank 0", rank_, size_,
                              options_.timeout_s)};
  return {Errc::measurement,
          fmt::format("rank {} of {} has ended ({})", other, size_, error.message)};
}

Status TcpWorld::send(int to, Kind kind, std::span<const std::byte> bytes) {
  Link& link = links_[static_cast<std::size_t>(rank_ == 0 ? to - 1 : 0)];
  const Status sent = link.send(static_cast<std::uint32_t>(kind), bytes, options_.timeout_s);
  if (sent) return ok;
  // One that is gone may have said why.
  const auto last_words =
      rank_ == 0 ? next(to, Kind::gave_up, 0) : Result<std::string>(sent.error());
  if (last_words) return gave_up(to, *last_words);
  return lost(to, sent.error());
}

Error TcpWorld::gave_up(int other, const std::string& line) {
  failed_ = true;
  const Error told = error_of(line);
  if (rank_ == 0) return {told.code, fmt::format("rank {} of {}: {}", other, size_, told.message)};
  spoken_for_ = true;
  return told;
}

Result<std::string> TcpWorld::next(int from, Kind kind, double limit_s) {
  Link& link = links_[static_cast<std::size_t>(rank_ == 0 ? from - 1 : 0)];
  for (;;) {
    auto frame = link.receive(limit_s);
    if (!frame && limit_s == 0 && frame.error().code == Errc::timeout) return frame.error();
    if (!frame) return lost(from, frame.error());
    if (frame->kind == static_cast<std::uint32_t>(Kind::arrived)) {
      ++arrivals_[static_cast<std::size_t>(from)];
      continue;
    }
    if (frame->kind == static_cast<std::uint32_t>(kind)) return std::move(frame->bytes);
    if (frame->kind == static_cast<std::uint32_t>(Kind::gave_up))
      return gave_up(from, frame->bytes);
    failed_ = true;
    return Error{Errc::internal, fmt::format("rank {} of {} says what nobody asked", from, size_)};
  }
}

Status TcpWorld::start_sum(std::span<float> values) {
  begun_.push_back(values);
  return rank_ == 0 ? ok : send(0, Kind::summand, std::as_bytes(values));
}

Status TcpWorld::finish() {
  const std::vector<std::span<float>> begun = std::exchange(begun_, {});
  const auto take = [&](int from, Kind kind, std::span<float> values) -> Result<std::string> {
    // Rank 0 is the first to lose patience, and knows with whom.
    SLUICE_TRY(std::string bytes,
               next(from, kind, options_.timeout_s + (rank_ == 0 ? 0 : kRank0Speaks_s)));
    if (bytes.size() == values.size_bytes()) return bytes;
    failed_ = true;
    return Error{Errc::unsupported, fmt::format("rank {} of {} adds {} bytes, rank {} {}", from,
                                                size_, bytes.size(), rank_, values.size_bytes())};
  };
  if (rank_ != 0) {
    for (const std::span<float> values : begun) {
      SLUICE_TRY(const std::string sum, take(0, Kind::sum, values));
      std::memcpy(values.data(), sum.data(), sum.size());
    }
    return ok;
  }
  // All is read before anything is sent: the others read only when they have sent all of theirs.
  for (int rank = 1; rank < size_; ++rank)
    for (const std::span<float> values : begun) {
      SLUICE_TRY(const std::string bytes, take(rank, Kind::summand, values));
      for (std::size_t i = 0; i < values.size(); ++i) {
        float one = 0;
        std::memcpy(&one, bytes.data() + i * sizeof one, sizeof one);
        values[i] += one;
      }
    }
  for (int rank = 1; rank < size_; ++rank)
    for (const std::span<float> values : begun)
      SLUICE_CHECK(send(rank, Kind::sum, std::as_bytes(values)));
  return ok;
}

Status TcpWorld::arrive() {
  ++arrived_;
  return rank_ == 0 ? ok : send(0, Kind::arrived, {});
}

Error TcpWorld::too_late() {
  const Error error = find_who_is_late();
  if (rank_ == 0) give_up(error);  // the others lose patience, too
  return error;
}

Error TcpWorld::find_who_is_late() {
  if (rank_ != 0) {
    const auto told = next(0, Kind::told, kRank0Speaks_s);
    if (!told) return told.error();
    failed_ = spoken_for_ = true;  // it leads on: then it will find this rank missing
    return {Errc::measurement, fmt::format("rank {} of {} waited {:g} s for the others", rank_,
                                           size_, options_.timeout_s)};
  }
  std::vector<int> late;
  for (int rank = 1; rank < size_; ++rank) {
    const auto heard = next(rank, Kind::answered, 0);  // what has come so far: nobody answers now
    if (failed_) return heard.error();
    if (arrivals_[static_cast<std::size_t>(rank)] < arrived_) late.push_back(rank);
  }
  failed_ = true;
  return {Errc::measurement, late_text(late, size_, options_.timeout_s)};
}

Status TcpWorld::tell(std::string_view text) {
  for (int rank = 1; rank < size_; ++rank)
    SLUICE_CHECK(send(rank, Kind::told, bytes_of(text)));
  return ok;
}

Result<std::string> TcpWorld::hear() {
  return next(0, Kind::told, kNoLimit);
}

Status TcpWorld::answer(std::string_view text) {
  return send(0, Kind::answered, bytes_of(text));
}

Result<std::vector<std::string>> TcpWorld::answers() {
  std::vector<std::string> all;
  for (int rank = 1; rank < size_; ++rank) {
    SLUICE_TRY(std::string text, next(rank, Kind::answered, options_.timeout_s));
    all.push_back(std::move(text));
  }
  return all;
}

void TcpWorld::give_up(const Error& why) {
  failed_ = true;
  if (std::exchange(told_, true) || spoken_for_) return;
  spoken_for_ = rank_ != 0;
  for (Link& link : links_)
    say_why(link, why);
}

/// One that is gone needs no word.
void TcpWorld::say_why(Link& link, const Error& why) {
  (void)link.send(static_cast<std::uint32_t>(Kind::gave_up), bytes_of(line_of(why)), kGoodbye_s);
}

}  // namespace sluice::train
