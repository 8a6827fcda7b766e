// sluice/peers/crew.cpp - checks, times and, where one dies, replaces the workers of a crew.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/crew.h"

#include "sluice/core/log.h"
#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/measure/reply.h"
#include "sluice/measure/sampler.h"
#include "sluice/measure/summary.h"
#include "sluice/peers/process_memory.h"
#include "sluice/peers/seat.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sluice::peers {

using measure::Reply;
using measure::Row;
using measure::RowStatus;

namespace {

constexpr std::size_t kMaxPaddingBytes = 4096;
constexpr std::uint32_t kOrderStage = 3;    // of RngKey; the runner of waves has 1 and 2
constexpr std::uint32_t kPaddingStage = 4;  // the size of the environment
constexpr int kStartAttempts = 2;           // then the library is given up for the session
constexpr int kResizings = 3;  // of a first sample that turned out too short: preflight is cold

struct Player {
  Member member;
  std::vector<Seat> seats;
  Greeting greeting;
  int failed_starts = 0;
  std::optional<Error> given_up;  // its rows carry this
};

/// What a case needs while it is under way, per library.
struct Part {
  Row row;
  std::int64_t items = 0;    // per pass
  std::int64_t passes = 0;   // per sample
  std::int64_t pass_ns = 0;  // estimate, for time limits
  bool live = false;
};

}  // namespace

class Crew::Impl {
 public:
  Impl(CrewOptions options, const measure::RunnerContext& context)
      : options_(std::move(options)), context_(context) {
    for (const Member& member : options_.members) {
      Player player;
      player.member = member;
      player.seats.resize(1);
      if (!member.absent.empty()) player.given_up = Error{Errc::unsupported, member.absent};
      players_.push_back(std::move(player));
    }
  }

  Result<std::vector<std::string>> start() {
    auto bar = context_.progress->bar("libraries", players_.size(), "libraries");
    std::vector<std::string> left_out;
    std::vector<Player> fitting;
    std::int64_t used = 0;
    for (Player& player : players_) {
      bar.add(1, "starting " + player.member.library);
      if (!player.given_up) SLUICE_CHECK(try_start(player, 0));
      const std::int64_t bytes = bytes_of(player.seats[0]);
      const bool fits = options_.memory_limit_bytes == 0 || fitting.empty() ||
                        used + bytes <= options_.memory_limit_bytes;
      if (!fits) {
        player.seats[0].leave();
        left_out.push_back(player.member.library);
        continue;
      }
      used += bytes;
      fitting.push_back(std::move(player));
    }
    players_ = std::move(fitting);
    processes_ = options_.policy.runs;
    if (options_.memory_limit_bytes > 0 && used > 0) {
      processes_ = static_cast<int>(
          std::clamp<std::int64_t>(options_.memory_limit_bytes / used, 1, options_.policy.runs));
    }
    for (Player& player : players_)
      player.seats.resize(static_cast<std::size_t>(processes_));
    return left_out;
  }

  Result<std::vector<Row>> measure(const CrewCase& one, int case_number) {
    std::vector<Part> parts(players_.size());
    for (const std::size_t p : shuffled(players_.size(), case_number, 0)) {
      parts[p].row = described(players_[p], one);
      if (const auto known = one.excluded.find(players_[p].member.library);
          known != one.excluded.end()) {
        parts[p].row.status = known->second.status;
        parts[p].row.reason = known->second.reason;
        continue;
      }
      if (auto ready = bring_to_start(players_[p], parts[p], one); !ready) {
        if (ready.error().code == Errc::interrupted) return ready.error();
        fail(parts[p], ready.error());
      }
    }
    for (int block = 0; block < options_.policy.runs; ++block) {
      int position = 0;
      for (const std::size_t p : shuffled(players_.size(), case_number, block + 1)) {
        if (!parts[p].live) continue;
        if (auto taken = take(players_[p], parts[p], one, block, position++); !taken) {
          if (taken.error().code == Errc::interrupted) return taken.error();
          fail(parts[p], taken.error());
          players_[p].seats[seat_of(block)].leave();
        }
      }
    }
    std::vector<Row> rows;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      close(players_[p], parts[p]);
      rows.push_back(std::move(parts[p].row));
    }
    return rows;
  }

  [[nodiscard]] int processes() const { return processes_; }

 private:
  [[nodiscard]] std::size_t seat_of(int block) const {
    return static_cast<std::size_t>(block % processes_);
  }

  [[nodiscard]] Row described(const Player& player, const CrewCase& one) const {
    Row row;
    row.case_name = one.name;
    row.params = one.params;
    row.library = player.member.library;
    row.thread_policy.asked = options_.threads;
    row.thread_policy.name = options_.thread_policy;
    row.unit = options_.unit;
    return row;
  }

  /// In all its processes: started, prepared and checked; in the first also the preflight.
  Status bring_to_start(Player& player, Part& part, const CrewCase& one) {
    for (std::size_t s = 0; s < player.seats.size(); ++s) {
      Seat& seat = player.seats[s];
      if (!seat.taken() && !player.given_up) SLUICE_CHECK(try_start(player, s));
      if (player.given_up) return *player.given_up;
      if (!seat.taken()) return Error{Errc::measurement, last_start_problem_};
      seat.resume(*context_.clock);
      reset_peak(seat.pid());
      Status ready = prepare(player, part, seat, one, s == 0);
      if (ready) {
        if (seat.taken()) seat.pause(*context_.clock);
      } else if (ready.error().code == Errc::unsupported) {
        seat.pause(*context_.clock);
        return ready;
      } else {
        seat.leave();
        return ready;
      }
      if (!part.live) return ok;  // early-stopped
    }
    return ok;
  }

  Status prepare(Player& player, Part& part, Seat& seat, const CrewCase& one, bool first) {
    Row& row = part.row;
    row.library_version = player.greeting.version;
    row.thread_policy.in_force = player.greeting.threads_in_force;
    SLUICE_TRY(const Json prepared,
               ask(seat, {{"type", "prepare"}, {"case", one.name}, {"spec", one.spec}},
                   options_.policy.step_timeout_s));
    SLUICE_TRY(part.items, Reply("prepare", prepared).integer("items_per_pass", 1));
    SLUICE_TRY(row.bytes_per_item, Reply("prepare", prepared).number("bytes_per_item", 0));
    SLUICE_TRY(const Json checked, ask(seat, {{"type", "check"}}, options_.start_timeout_s));
    SLUICE_TRY(const std::string digest, Reply("check", checked).text("digest"));
    if (digest.empty()) return Reply("check", checked).wrong("digest", "the digest of the output");
    if (first) {
      row.output_digest = digest;
      return preflight(part, seat);
    }
    if (digest != row.output_digest) {
      return Error{Errc::measurement,
                   fmt::format("check: output differs between processes (digest {}, earlier {})",
                               printable(digest), printable(row.output_digest))};
    }
    return ok;
  }

  Status preflight(Part& part, Seat& seat) {
    const measure::Policy& policy = options_.policy;
    auto timed = ask(seat,
                     {{"type", "preflight"},
                      {"slow_item_s", policy.slow_item_s},
                      {"items", options_.preflight_items}},
                     options_.preflight_limit_s);
    if (!timed && timed.error().code == Errc::timeout) {
      seat.leave();
      part.row.status = RowStatus::early_stopped;
      part.row.reason = fmt::format("preflight: {} items took longer than {:g} s",
                                    options_.preflight_items, options_.preflight_limit_s);
      return ok;
    }
    if (!timed) return timed.error();
    SLUICE_TRY(part.pass_ns, Reply("preflight", *timed).integer("pass_ns", 1, measure::kLongestNs));
    const double item_s =
        static_cast<double>(part.pass_ns) * 1e-9 / static_cast<double>(part.items);
    if (policy.slow_item_s > 0 && item_s >= policy.slow_item_s) {
      part.row.status = RowStatus::early_stopped;
      part.row.reason = fmt::format("preflight: {:.3g} s per item, the limit is {:g} s", item_s,
                                    policy.slow_item_s);
      return ok;
    }
    part.passes = measure::passes_per_sample(part.pass_ns,
                                             static_cast<std::int64_t>(policy.min_sample_ms * 1e6));
    part.live = true;
    return ok;
  }

  /// One sample, while every other worker is stopped and we wait. The very first sizes the others:
  /// one that was too short is taken again with more passes.
  Status take(Player& player, Part& part, const CrewCase& one, int block, int position) {
    Seat& seat = player.seats[seat_of(block)];
    measure::Run run;
    run.run_id =
        fmt::format("{}/{}/{}/{}", context_.session_id, one.name, player.member.library, block);
    run.pid = seat.pid();
    run.block = block;
    run.position = position;
    const auto min_ns = static_cast<std::int64_t>(options_.policy.min_sample_ms * 1e6);
    run.idle_before_ms = seat.resume(*context_.clock);
    for (int attempt = 0;; ++attempt) {
      SLUICE_TRY(const std::int64_t items, items_per_sample(part));
      SLUICE_TRY(const Json reply, ask(seat,
                                       {{"type", "measure"},
                                        {"case", one.name},
                                        {"passes", part.passes},
                                        {"warmup_ms", options_.policy.warmup_ms},
                                        {"warmup_limit_ms", options_.policy.warmup_limit_ms}},
                                       time_limit_s(part)));
      SLUICE_CHECK(measure::add_sample(run, Reply("measure", reply), items));
      SLUICE_CHECK(read_gpu_memory(part.row, reply));
      part.row.items_per_sample = items;
      const std::int64_t elapsed =
          std::accumulate(run.samples_ns.begin(), run.samples_ns.end(), std::int64_t{0}) /
          static_cast<std::int64_t>(run.samples_ns.size());
      if (!part.row.runs.empty() || elapsed >= min_ns || attempt == kResizings) break;
      part.passes = measure::passes_per_sample(std::max<std::int64_t>(1, elapsed / part.passes),
                                               min_ns + min_ns / 10);
      run.samples_ns.clear();
      run.cpu_ns = run.major_faults = run.involuntary_switches = 0;
    }
    seat.pause(*context_.clock);
    part.row.runs.push_back(std::move(run));
    return ok;
  }

  [[nodiscard]] static Result<std::int64_t> items_per_sample(const Part& part) {
    std::int64_t items = 0;
    if (__builtin_mul_overflow(part.items, part.passes, &items))
      return Error{Errc::measurement, "prepare: items_per_pass is too large to be counted"};
    return items;
  }

  [[nodiscard]] double time_limit_s(const Part& part) const {
    constexpr double kPatience = 10;  // a machine may stall, and estimates are cold
    return options_.policy.step_timeout_s +
           kPatience * static_cast<double>(part.pass_ns) * 1e-9 * static_cast<double>(part.passes);
  }

  static Status read_gpu_memory(Row& row, const Json& reply) {
    const Json& fields = Reply("measure", reply).field("gpu_memory");
    if (!fields.is_object()) return ok;
    const Reply memory("measure: gpu_memory", fields);
    SLUICE_TRY(const auto allocated, memory.integer("peak_allocated_bytes", 0));
    SLUICE_TRY(const auto reserved, memory.integer("peak_reserved_bytes", 0));
    measure::GpuMemory& peak = row.gpu_memory ? *row.gpu_memory : row.gpu_memory.emplace();
    peak.peak_allocated_bytes = std::max(peak.peak_allocated_bytes, allocated);
    peak.peak_reserved_bytes = std::max(peak.peak_reserved_bytes, reserved);
    return ok;
  }

  void close(Player& player, Part& part) const {
    Row& row = part.row;
    if (!part.live) return;
    for (const Seat& seat : player.seats) {
      if (!seat.taken()) continue;
      if (const auto peak = peak_bytes(seat.pid()))
        row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *peak);
    }
    measure::summarise(row, options_.policy.unstable_cv);
    if (!row.summary) {
      fail(part, {Errc::measurement, "no sample was taken"});
    } else if (options_.cpu_limit && row.thread_policy.cpu_per_wall > *options_.cpu_limit) {
      fail(part,
           {Errc::measurement,
            fmt::format("thread policy violated: {:.2f} cores busy, {} asks for {}",
                        row.thread_policy.cpu_per_wall, options_.thread_policy, options_.threads)});
    }
  }

  static void fail(Part& part, const Error& error) {
    part.live = false;
    part.row.status = error.code == Errc::unsupported ? RowStatus::unsupported : RowStatus::failed;
    part.row.reason = error.message;
    if (part.row.status == RowStatus::failed)
      log::warn("{} in {}: failed: {}", part.row.case_name, part.row.library, part.row.reason);
  }

  /// A process for seat `s`, stopped. Not an Error when it does not come up: after a few attempts
  /// the library is given up.
  Status try_start(Player& player, std::size_t s) {
    if (stop_requested()) return Error{Errc::interrupted, "interrupted"};
    const Status started = player.seats[s].start(start_options(player, s), *context_.launcher,
                                                 *context_.clock, player.greeting);
    if (started) {
      player.failed_starts = 0;
      return ok;
    }
    if (started.error().code == Errc::interrupted) return started;
    last_start_problem_ = started.error().message;
    if (started.error().code == Errc::unsupported || ++player.failed_starts >= kStartAttempts) {
      player.given_up = started.error();
      log::info("{}: {}", player.member.library, started.error().message);
    }
    return ok;
  }

  StartOptions start_options(const Player& player, std::size_t s) {
    Rng rng(RngKey{options_.policy.seed, s, launches_++, 0, kPaddingStage});
    StartOptions how;
    how.launch.command = player.member.command;
    how.launch.environment = player.member.environment;
    if (!context_.log_dir.empty())
      how.launch.log_file = context_.log_dir / (player.member.library + ".log");
    how.launch.environment_padding = static_cast<std::size_t>(rng.below(kMaxPaddingBytes));
    how.launch.cpus = options_.policy.cpus;
    how.launch.cancel_fd = context_.cancel_fd;
    how.configure = Json{{"threads", options_.threads},
                         {"device", player.member.device},
                         {"seed", options_.policy.seed},
                         {"thread_policy", options_.thread_policy}};
    how.load = options_.load;
    how.timeout_s = options_.start_timeout_s;
    return how;
  }

  static std::int64_t bytes_of(const Seat& seat) {
    return seat.taken() ? private_bytes(seat.pid()).value_or(0) : 0;
  }

  [[nodiscard]] bool stop_requested() const {
    return context_.interrupted && context_.interrupted();
  }

  Result<Json> ask(Seat& seat, Json request, double timeout_s) const {
    if (stop_requested()) return Error{Errc::interrupted, "interrupted"};
    return seat.ask(std::move(request), timeout_s);
  }

  [[nodiscard]] std::vector<std::size_t> shuffled(std::size_t n, int case_number, int round) const {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    Rng rng(RngKey{options_.policy.seed, static_cast<std::uint64_t>(case_number),
                   static_cast<std::uint64_t>(round), 0, kOrderStage});
    rng.shuffle(std::span<std::size_t>(order));
    return order;
  }

  CrewOptions options_;
  measure::RunnerContext context_;
  std::vector<Player> players_;
  int processes_ = 1;
  std::uint64_t launches_ = 0;
  std::string last_start_problem_;
};

Crew::Crew(CrewOptions options, const measure::RunnerContext& context)
    : impl_(std::make_unique<Impl>(std::move(options), context)) {}
Crew::~Crew() = default;

Result<std::vector<std::string>> Crew::start() {
  return impl_->start();
}

Result<std::vector<measure::Row>> Crew::measure(const CrewCase& one, int case_number) {
  return impl_->measure(one, case_number);
}

int Crew::processes_per_library() const {
  return impl_->processes();
}

}  // namespace sluice::peers
