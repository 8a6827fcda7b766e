// sluice/peers/crew.cpp - starts and, where one dies, replaces the workers of a crew; the scheduler
// of measure gives them their turns.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/crew.h"

#include "sluice/core/log.h"
#include "sluice/measure/schedule.h"
#include "sluice/measure/usage.h"
#include "sluice/measure/worker/session.h"

#include <algorithm>

namespace sluice::peers {

using measure::Row;
using measure::WorkerSession;

namespace {

constexpr std::uint32_t kPaddingStage = 4;  // of RngKey; a wave has 2
constexpr int kStartAttempts = 2;           // then the library is given up for the session

const Row* row_of(const std::vector<Row>& rows, const std::string& library) {
  const auto found = std::ranges::find(rows, library, &Row::library);
  return found == rows.end() ? nullptr : &*found;
}

int next_block(const Row& row) {
  int next = 0;
  for (const measure::Run& run : row.runs)
    next = std::max(next, run.block + 1);
  return next;
}

struct Player {
  Member member;
  std::vector<WorkerSession> seats;  // one process each
  int failed_starts = 0;
  std::optional<Error> given_up;  // its rows carry this
};

}  // namespace

class Crew::Impl {
 public:
  Impl(CrewOptions options, const measure::RunnerContext& context)
      : options_(std::move(options)), context_(context) {
    options_.policy.samples_per_run = 1;
    for (const Member& member : options_.members) {
      Player player;
      player.member = member;
      player.seats.resize(1);
      if (!member.absent.empty()) player.given_up = Error{Errc::unsupported, member.absent};
      players_.push_back(std::move(player));
    }
  }
  ~Impl() {
    std::uint64_t count = 0;
    for (const Player& player : players_)
      count += player.seats.size();
    auto bar = context_.progress->bar("ending workers", count, "workers");
    for (Player& player : players_) {
      for (WorkerSession& seat : player.seats) {
        seat.stop();
        bar.add();
      }
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<std::vector<std::string>> start() {
    auto bar = context_.progress->bar("libraries", players_.size(), "libraries");
    std::vector<std::string> left_out;
    std::vector<Player> fitting;
    std::int64_t used = 0;
    std::uint64_t done = 0;
    for (Player& player : players_) {
      bar.set(done++, "starting " + player.member.library);
      if (!player.given_up) SLUICE_CHECK(try_start(player, 0));
      if (player.seats[0].alive()) player.seats[0].pause();
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
    bar.set(done);
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

  Result<std::vector<Row>> measure(const CrewCase& one, int case_number,
                                   const std::vector<Row>& so_far) {
    std::vector<measure::SubjectSpec> specs;
    for (const Player& player : players_)
      specs.push_back(spec_of(player, one));
    std::vector<Row> rows(players_.size());
    std::vector<measure::Place> places;
    int first_block = 0;
    for (std::size_t p = 0; p < players_.size(); ++p) {
      places.push_back({&specs[p], &rows[p], players_[p].seats});
      if (const Row* earlier = row_of(so_far, specs[p].library)) {
        rows[p] = *earlier;
        places[p].open = earlier->status == measure::RowStatus::ok;
        first_block = std::max(first_block, next_block(*earlier));
        continue;
      }
      put_spec(rows[p], specs[p]);
      if (const auto known = one.excluded.find(specs[p].library); known != one.excluded.end()) {
        places[p].open = false;
        rows[p].status = known->second.status;
        rows[p].reason = known->second.reason;
      }
    }
    measure::ScheduleRules rules;
    rules.lifetime = measure::Lifetime::session;
    rules.preflight_items = options_.preflight_items;
    rules.preflight_limit_s = options_.preflight_limit_s;
    rules.check_timeout_s = options_.start_timeout_s;
    rules.patience = 10;  // a machine may stall, and estimates are cold
    rules.case_number = static_cast<std::uint32_t>(case_number);
    measure::Schedule schedule(
        places, rules, options_.policy, context_,
        [&](std::size_t p, std::size_t seat, int) -> Status { return seated(players_[p], seat); });
    for (int block = first_block; block < options_.policy.runs; ++block)
      SLUICE_CHECK(schedule.run_block(block));
    for (std::size_t p = 0; p < places.size(); ++p)
      if (places[p].open) close(rows[p], specs[p]);
    return rows;
  }

  [[nodiscard]] int processes() const { return processes_; }

 private:
  [[nodiscard]] measure::SubjectSpec spec_of(const Player& player, const CrewCase& one) const {
    measure::SubjectSpec spec = peers::spec_of(player.member);
    spec.case_name = one.name;
    spec.params = one.params;
    spec.spec = one.spec;
    spec.threads = options_.threads;
    spec.thread_policy = options_.thread_policy;
    spec.unit = options_.unit;
    spec.cpu_limit = options_.cpu_limit.value_or(measure::kNoCpuLimit);
    return spec;
  }

  void close(Row& row, const measure::SubjectSpec& spec) const {
    Status sound = measure::close_row(row, spec, options_.policy);
    if (!row.summary) sound = Error{Errc::measurement, "no sample was taken"};
    if (sound) return;
    measure::fail(row, sound.error());
    log::warn("{} in {}: failed: {}", row.case_name, row.library, row.reason);
  }

  /// A running process in seat `s`, or why there is none.
  Status seated(Player& player, std::size_t s) {
    if (!player.given_up) SLUICE_CHECK(try_start(player, s));
    if (player.given_up) return *player.given_up;
    if (!player.seats[s].alive()) return Error{Errc::measurement, last_start_problem_};
    return ok;
  }

  /// A process for seat `s`. Not an Error when it does not come up: after a few attempts
  /// the library is given up.
  Status try_start(Player& player, std::size_t s) {
    if (stop_requested()) return Error{Errc::interrupted, "interrupted"};
    const Status started = player.seats[s].start(start_options(player, s), context_);
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

  measure::SessionOptions start_options(const Player& player, std::size_t s) {
    measure::SessionOptions how =
        measure::session_options(spec_of(player, {}), context_, options_.start_timeout_s,
                                 measure::subject_seed(options_.policy));
    how.launch.environment_padding =
        measure::padding_bytes({options_.policy.seed, s, launches_++, 0, kPaddingStage});
    how.launch.cpus = options_.policy.cpus;
    how.configure.device = player.member.device;
    how.load = options_.load;
    return how;
  }

  static std::int64_t bytes_of(const WorkerSession& seat) {
    return seat.alive() ? measure::private_bytes(seat.pid()).value_or(0) : 0;
  }

  [[nodiscard]] bool stop_requested() const {
    return context_.interrupted && context_.interrupted();
  }

  CrewOptions options_;
  measure::RunnerContext context_;
  std::vector<Player> players_;
  int processes_ = 1;
  std::uint64_t launches_ = 0;
  std::string last_start_problem_;
};

measure::SubjectSpec spec_of(const Member& member) {
  measure::SubjectSpec spec;
  spec.library = member.library;
  spec.command = member.command;
  spec.environment = member.environment;
  return spec;
}

Crew::Crew(CrewOptions options, const measure::RunnerContext& context)
    : impl_(std::make_unique<Impl>(std::move(options), context)) {}
Crew::~Crew() = default;

Result<std::vector<std::string>> Crew::start() {
  return impl_->start();
}

Result<std::vector<measure::Row>> Crew::measure(const CrewCase& one, int case_number,
                                                const std::vector<measure::Row>& so_far) {
  return impl_->measure(one, case_number, so_far);
}

int Crew::processes_per_library() const {
  return impl_->processes();
}

}  // namespace sluice::peers
