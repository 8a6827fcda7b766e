// sluice/peers/crew.cpp - checks, times and, where one dies, replaces the workers of a crew.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/crew.h"

#include "sluice/core/log.h"
#include "sluice/measure/sampler.h"
#include "sluice/measure/schedule.h"
#include "sluice/measure/session.h"
#include "sluice/measure/summary.h"
#include "sluice/peers/process_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sluice::peers {

using measure::Row;
using measure::RowStatus;
using measure::WorkerSession;

namespace {

constexpr std::uint32_t kOrderStage = 3;    // of RngKey; the runner of waves has 1 and 2
constexpr std::uint32_t kPaddingStage = 4;  // the size of the environment
constexpr int kStartAttempts = 2;           // then the library is given up for the session
constexpr int kResizings = 3;  // of a first sample that turned out too short: preflight is cold

struct Player {
  Member member;
  std::vector<WorkerSession> seats;  // one process each
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
  ~Impl() {
    for (Player& player : players_)
      for (WorkerSession& seat : player.seats)
        seat.stop();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

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
        player.seats[0].stop();
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
    for (const std::size_t p : order(case_number, 0)) {
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
      for (const std::size_t p : order(case_number, block + 1)) {
        if (!parts[p].live) continue;
        if (auto taken = take(players_[p], parts[p], one, block, position++); !taken) {
          if (taken.error().code == Errc::interrupted) return taken.error();
          fail(parts[p], taken.error());
          players_[p].seats[seat_of(block)].stop();
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
      WorkerSession& seat = player.seats[s];
      if (!seat.alive() && !player.given_up) SLUICE_CHECK(try_start(player, s));
      if (player.given_up) return *player.given_up;
      if (!seat.alive()) return Error{Errc::measurement, last_start_problem_};
      seat.resume();
      reset_peak(seat.pid());
      Status ready = prepare(part, seat, one, s == 0);
      if (ready || ready.error().code == Errc::unsupported) {
        if (seat.alive()) seat.pause();
      } else {
        seat.stop();
      }
      if (!ready || !part.live) return ready;  // not live: early-stopped
    }
    return ok;
  }

  Status prepare(Part& part, WorkerSession& seat, const CrewCase& one, bool first) {
    Row& row = part.row;
    row.library_version = seat.hello().version;
    row.thread_policy.in_force = seat.configured().threads;
    SLUICE_TRY(const auto prepared,
               ask(seat, measure::Prepare{one.name, one.spec}, options_.policy.step_timeout_s));
    part.items = prepared.items_per_pass;
    row.bytes_per_item = prepared.bytes_per_item;
    SLUICE_TRY(const auto checked, ask(seat, measure::Check{}, options_.start_timeout_s));
    SLUICE_CHECK(measure::keep_digest(row, checked.digest, "processes"));
    return first ? preflight(part, seat) : Status(ok);
  }

  Status preflight(Part& part, WorkerSession& seat) {
    const measure::Policy& policy = options_.policy;
    const auto timed = ask(seat, measure::Preflight{policy.slow_item_s, options_.preflight_items},
                           options_.preflight_limit_s);
    if (!timed && timed.error().code == Errc::timeout) {
      seat.stop();
      part.row.status = RowStatus::early_stopped;
      part.row.reason = fmt::format("preflight: {} items took longer than {:g} s",
                                    options_.preflight_items, options_.preflight_limit_s);
      return ok;
    }
    if (!timed) return timed.error();
    part.pass_ns = timed->pass_ns;
    if (measure::stopped_early(part.row, part.pass_ns, part.items, policy)) return ok;
    part.passes = measure::passes_per_sample(part.pass_ns,
                                             static_cast<std::int64_t>(policy.min_sample_ms * 1e6));
    part.live = true;
    return ok;
  }

  /// One sample, while every other worker is stopped and we wait. The very first sizes the others:
  /// one that was too short is taken again with more passes.
  Status take(Player& player, Part& part, const CrewCase& one, int block, int position) {
    WorkerSession& seat = player.seats[seat_of(block)];
    measure::Run run = measure::new_run(context_.session_id, part.row, block, seat.pid());
    run.position = position;
    const auto min_ns = static_cast<std::int64_t>(options_.policy.min_sample_ms * 1e6);
    run.idle_before_ms = seat.resume();
    for (int attempt = 0;; ++attempt) {
      SLUICE_TRY(const std::int64_t items, measure::items_per_sample(part.items, part.passes));
      SLUICE_TRY(const auto answer,
                 ask(seat,
                     measure::Measure{one.name, part.passes, options_.policy.warmup_ms,
                                      options_.policy.warmup_limit_ms},
                     time_limit_s(part)));
      SLUICE_CHECK(measure::add_sample(run, answer, items));
      keep_gpu_memory(part.row, answer);
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
    seat.pause();
    part.row.runs.push_back(std::move(run));
    return ok;
  }

  [[nodiscard]] double time_limit_s(const Part& part) const {
    constexpr double kPatience = 10;  // a machine may stall, and estimates are cold
    return options_.policy.step_timeout_s +
           kPatience * static_cast<double>(part.pass_ns) * 1e-9 * static_cast<double>(part.passes);
  }

  static void keep_gpu_memory(Row& row, const measure::Measure::Answer& answer) {
    if (!answer.gpu_memory) return;
    measure::GpuMemory& peak = row.gpu_memory ? *row.gpu_memory : row.gpu_memory.emplace();
    peak.peak_allocated_bytes =
        std::max(peak.peak_allocated_bytes, answer.gpu_memory->peak_allocated_bytes);
    peak.peak_reserved_bytes =
        std::max(peak.peak_reserved_bytes, answer.gpu_memory->peak_reserved_bytes);
  }

  void close(Player& player, Part& part) const {
    Row& row = part.row;
    if (!part.live) return;
    for (const WorkerSession& seat : player.seats) {
      if (!seat.alive()) continue;
      if (const auto peak = peak_bytes(seat.pid()))
        row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *peak);
    }
    measure::summarise(row, options_.policy.unstable_cv);
    if (!row.summary) {
      fail(part, {Errc::measurement, "no sample was taken"});
    } else if (options_.cpu_limit) {
      if (const Status held = measure::hold_thread_policy(row, *options_.cpu_limit); !held)
        fail(part, held.error());
    }
  }

  static void fail(Part& part, const Error& error) {
    part.live = false;
    measure::fail(part.row, error);
    if (part.row.status == RowStatus::failed)
      log::warn("{} in {}: failed: {}", part.row.case_name, part.row.library, part.row.reason);
  }

  /// A process for seat `s`, stopped. Not an Error when it does not come up: after a few attempts
  /// the library is given up.
  Status try_start(Player& player, std::size_t s) {
    if (stop_requested()) return Error{Errc::interrupted, "interrupted"};
    const Status started = player.seats[s].start(start_options(player, s), context_);
    if (started) {
      player.seats[s].pause();
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

  measure::SessionOptions start_options(const Player& player, std::size_t s) {
    measure::SessionOptions how;
    how.launch = launch_options(player.member, context_);
    how.launch.environment_padding =
        measure::padding_bytes({options_.policy.seed, s, launches_++, 0, kPaddingStage});
    how.launch.cpus = options_.policy.cpus;
    how.configure = {options_.threads, player.member.device, options_.policy.seed,
                     options_.thread_policy};
    how.load = options_.load;
    how.timeout_s = options_.start_timeout_s;
    return how;
  }

  static std::int64_t bytes_of(const WorkerSession& seat) {
    return seat.alive() ? private_bytes(seat.pid()).value_or(0) : 0;
  }

  [[nodiscard]] bool stop_requested() const {
    return context_.interrupted && context_.interrupted();
  }

  template <class Message>
  Result<typename Message::Answer> ask(WorkerSession& seat, const Message& message,
                                       double timeout_s) const {
    if (stop_requested()) return Error{Errc::interrupted, "interrupted"};
    return seat.ask(message, timeout_s);
  }

  [[nodiscard]] std::vector<std::size_t> order(int case_number, int round) const {
    return measure::shuffled(players_.size(),
                             {options_.policy.seed, static_cast<std::uint64_t>(case_number),
                              static_cast<std::uint64_t>(round), 0, kOrderStage});
  }

  CrewOptions options_;
  measure::RunnerContext context_;
  std::vector<Player> players_;
  int processes_ = 1;
  std::uint64_t launches_ = 0;
  std::string last_start_problem_;
};

measure::LaunchOptions launch_options(const Member& member, const measure::RunnerContext& context) {
  measure::LaunchOptions launch;
  launch.command = member.command;
  launch.environment = member.environment;
  if (!context.log_dir.empty()) launch.log_file = context.log_dir / (member.library + ".log");
  launch.cancel_fd = context.cancel_fd;
  return launch;
}

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
