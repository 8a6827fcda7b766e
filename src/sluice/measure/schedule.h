// sluice/measure/schedule.h - the one scheduler: subjects are made ready one by one, then take
// turns, each alone on the machine, whether their processes live for a block or for many cases.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/core/rng.h"
#include "sluice/measure/policy.h"
#include "sluice/measure/record.h"
#include "sluice/measure/runner.h"
#include "sluice/measure/worker/session.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::measure {

/// How long a worker process lives.
enum class Lifetime {
  block,    // one: every run starts a process, which also times a preflight, and ends it
  session,  // many cases: block b of each is taken in seat b modulo the seats, all of which are
            // made ready before the first turn; the first seat's preflight serves them all. A row
            // that has runs already goes on with the block after them
};

/// One subject among those that take turns.
struct Place {
  const SubjectSpec* spec = nullptr;
  Row* row = nullptr;
  std::span<WorkerSession>
      seats;         // its processes, running or to be started; one for Lifetime::block
  bool open = true;  // false: nothing is measured here any more, its row says why
  // What the scheduler knows of it:
  Run run{};                 // of the block under way
  std::int64_t items = 0;    // per pass
  std::int64_t pass_ns = 0;  // estimate, for time limits
};

struct ScheduleRules {
  Lifetime lifetime = Lifetime::block;
  std::int64_t preflight_items = 0;           // 0: a whole pass; otherwise the first sample, if too
                                              // short, is taken again with more passes
  std::optional<double> preflight_limit_s{};  // a longer preflight stops the row early; absent: it
                                              // fails like any late answer
  std::optional<double> check_timeout_s{};    // absent: that of every step
  double patience = 0;  // times the expected length of a sample, added to the time limit of a step
  std::uint32_t case_number = 0;  // of a session; every case has orders of its own
};

class Schedule {
 public:
  /// Brings up a process for the place and seat, running. An Error costs the row.
  using Start = std::function<Status(std::size_t place, std::size_t seat, int block)>;

  /// All are kept by reference and outlive this.
  Schedule(std::vector<Place>& places, const ScheduleRules& rules, const Policy& policy,
           const RunnerContext& context, Start start);

  /// One run of every open place: samples in turn, in random order, while all others are stopped.
  /// A subject that fails costs its row only. Error: interrupted; nothing of the block is kept.
  /// `on_run` is called as the last sample of a run was taken or failed.
  Status run_block(int block, const std::function<void(const Row&)>& on_run = {});

  /// Called as a subject of a block is ready to be timed, or cannot be; empty: not.
  std::function<void(const Row&)> on_ready;

 private:
  Status make_ready(int block);
  Status make_ready(std::size_t k, std::size_t seat, int block);
  Status prepare(Place& place, WorkerSession& session, bool preflight_too);
  Status preflight(Place& place, WorkerSession& session);
  Status size_samples(Place& place);
  Status turn(Place& place, WorkerSession& session, int samples);
  Status fill(Place& place, WorkerSession& session, std::size_t goal);
  Result<bool> resized(Place& place);
  void keep(Place& place, WorkerSession& session);
  void give_up(Place& place, const Error& error);
  [[nodiscard]] bool stop_requested() const;
  [[nodiscard]] std::vector<std::size_t> order(std::size_t n, int block, int round) const;
  [[nodiscard]] WorkerSession& seat_of(Place& place, int block) const;
  template <class Message>
  Result<typename Message::Answer> ask(WorkerSession& session, const Message& message,
                                       double timeout_s) const;

  std::vector<Place>& places_;
  ScheduleRules rules_;
  const Policy& policy_;
  const RunnerContext& context_;
  Start start_;
  bool session_ready_ = false;
  bool ended_ = false;  // RunnerContext::goes_on said so
};

/// Bytes by which an environment is made larger, so that luck of layout is noise.
std::size_t padding_bytes(const RngKey& key);
/// A run to be, in process `pid`.
Run new_run(const std::string& session_id, const Row& row, int block, std::int64_t pid);
/// Items of a sample; an Error when they cannot be counted.
Result<std::int64_t> items_per_sample(std::int64_t items_per_pass, std::int64_t passes);
/// The row carries `error`: unsupported, or failed for any other reason.
void fail(Row& row, const Error& error);
/// Summarises the runs; an Error when more cores were busy than the spec, or the policy, allows.
Status close_row(Row& row, const SubjectSpec& spec, const Policy& policy);

}  // namespace sluice::measure
