// sluice/measure/schedule.cpp - ready, check, preflight, turns; digests, slowness, thread policy.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/schedule.h"

#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/measure/sampler.h"
#include "sluice/measure/summary.h"
#include "sluice/measure/usage.h"
#include "sluice/measure/worker/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::measure {
namespace {

constexpr std::uint32_t kTurnStage = 1;  // of RngKey: the order within a block
constexpr int kResizings = 3;  // of a first sample that turned out too short: preflight is cold

/// 0 to n - 1 in the order of `key`.
std::vector<std::size_t> shuffled(std::size_t n, const RngKey& key) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng rng(key);
  rng.shuffle(std::span<std::size_t>(order));
  return order;
}

std::int64_t min_sample_ns(const Policy& policy) {
  return static_cast<std::int64_t>(policy.min_sample_ms * 1e6);
}

/// Results before times: the digest becomes that of the row, or must be the same.
Status keep_digest(Row& row, const std::string& digest, Lifetime lifetime) {
  if (row.output_digest.empty()) row.output_digest = digest;
  if (row.output_digest == digest) return ok;
  return Error{Errc::measurement,
               fmt::format("check: output differs between {} (digest {}, earlier {})",
                           lifetime == Lifetime::block ? "runs" : "processes", printable(digest),
                           printable(row.output_digest))};
}

void stop_early(Place& place, std::string reason) {
  place.open = false;
  place.row->status = RowStatus::early_stopped;
  place.row->reason = std::move(reason);
}

void keep_gpu_memory(Row& row, const Measure::Answer& answer) {
  if (!answer.gpu_memory) return;
  GpuMemory& peak = row.gpu_memory ? *row.gpu_memory : row.gpu_memory.emplace();
  peak.peak_allocated_bytes =
      std::max(peak.peak_allocated_bytes, answer.gpu_memory->peak_allocated_bytes);
  peak.peak_reserved_bytes =
      std::max(peak.peak_reserved_bytes, answer.gpu_memory->peak_reserved_bytes);
}

}  // namespace

Schedule::Schedule(std::vector<Place>& places, const ScheduleRules& rules, const Policy& policy,
                   const RunnerContext& context, Start start)
    : places_(places),
      rules_(rules),
      policy_(policy),
      context_(context),
      start_(std::move(start)) {}

Status Schedule::run_block(int block, const std::function<void(const Row&)>& on_run) {
  SLUICE_CHECK(make_ready(block));
  std::vector<Place*> active;
  for (Place& place : places_) {
    if (!place.open) continue;
    place.run = new_run(context_.session_id, *place.row, block, seat_of(place, block).pid());
    active.push_back(&place);
  }
  const int per_turn = policy_.samples_per_turn;
  const int turns = (policy_.samples_per_run + per_turn - 1) / per_turn;
  for (int number = 0; number < turns; ++number) {
    const int samples = std::min(per_turn, policy_.samples_per_run - number * per_turn);
    int position = 0;
    for (const std::size_t k : order(active.size(), block, number + 1)) {
      Place& place = *active[k];
      if (!place.open) continue;
      if (number == 0) place.run.position = position;
      ++position;
      if (const Status taken = turn(place, seat_of(place, block), samples); !taken) {
        if (taken.error().code == Errc::interrupted) return taken;
        give_up(place, taken.error());
        seat_of(place, block).kill();
      }
      if (number + 1 == turns && on_run) on_run(*place.row);
    }
  }
  for (Place* place : active)
    if (place->open) keep(*place, seat_of(*place, block));
  return ok;
}

Status Schedule::make_ready(int block) {
  if (rules_.lifetime == Lifetime::session && std::exchange(session_ready_, true)) return ok;
  for (const std::size_t k : order(places_.size(), block, 0)) {
    Place& place = places_[k];
    const bool asked = place.open;
    for (std::size_t seat = 0; seat < place.seats.size() && place.open; ++seat) {
      if (const Status ready = make_ready(k, seat, block); !ready) {
        if (ready.error().code == Errc::interrupted) return ready;
        give_up(place, ready.error());
      }
      if (rules_.lifetime == Lifetime::block && !place.open) place.seats[seat].stop();
    }
    if (asked && on_ready) on_ready(*place.row);
  }
  return ok;
}

/// A process that only has to run, stopped.
Status Schedule::make_ready(std::size_t k, std::size_t seat, int block) {
  Place& place = places_[k];
  WorkerSession& session = place.seats[seat];
  if (stop_requested()) return Error{Errc::interrupted, "interrupted"};
  if (session.alive()) {
    session.resume();
  } else {
    SLUICE_CHECK(start_(k, seat, block));
  }
  if (rules_.lifetime == Lifetime::session) reset_peak(session.pid());
  Status ready = prepare(place, session, rules_.lifetime == Lifetime::block || seat == 0);
  if (!ready && ready.error().code != Errc::unsupported) session.kill();
  if (session.alive()) session.pause();
  return ready;
}

Status Schedule::prepare(Place& place, WorkerSession& session, bool preflight_too) {
  Row& row = *place.row;
  const std::string& version = session.hello().version;
  if (rules_.lifetime == Lifetime::session && !row.runs.empty() && row.library_version != version)
    return Error{
        Errc::measurement,
        fmt::format("{} was version {} in the runs before, and is now {}", printable(row.library),
                    printable(row.library_version), printable(version))};
  row.library_version = version;
  row.thread_policy.in_force = session.configured().threads;
  SLUICE_TRY(const auto prepared, ask(session, Prepare{place.spec->case_name, place.spec->spec},
                                      policy_.step_timeout_s));
  place.items = prepared.items_per_pass;
  row.bytes_per_item = prepared.bytes_per_item;
  SLUICE_TRY(const auto checked,
             ask(session, Check{}, rules_.check_timeout_s.value_or(policy_.step_timeout_s)));
  SLUICE_CHECK(keep_digest(row, checked.digest, rules_.lifetime));
  if (preflight_too && !place.spec->single_pass) SLUICE_CHECK(preflight(place, session));
  return place.open ? size_samples(place) : Status(ok);
}

/// A subject that is too slow is stopped here.
Status Schedule::preflight(Place& place, WorkerSession& session) {
  const auto timed = ask(session, Preflight{policy_.slow_item_s, rules_.preflight_items},
                         rules_.preflight_limit_s.value_or(policy_.step_timeout_s));
  if (!timed && timed.error().code == Errc::timeout && rules_.preflight_limit_s) {
    session.kill();
    stop_early(place, fmt::format("preflight: {} items took longer than {:g} s",
                                  rules_.preflight_items, *rules_.preflight_limit_s));
    return ok;
  }
  if (!timed) return timed.error();
  place.pass_ns = timed->pass_ns;
  const double item_s =
      static_cast<double>(place.pass_ns) * 1e-9 / static_cast<double>(place.items);
  const bool first_run = place.row->runs.empty();  // later, one slow pass is a hiccup
  if (first_run && policy_.slow_item_s > 0 && item_s >= policy_.slow_item_s) {
    place.row->preflight_item_s = item_s;
    stop_early(place, fmt::format("preflight: {:.3g} s per item, the limit is {:g} s", item_s,
                                  policy_.slow_item_s));
  }
  return ok;
}

/// The first run sizes the samples of the row; passes of later ones must add up to the same.
Status Schedule::size_samples(Place& place) {
  Row& row = *place.row;
  const SubjectSpec& spec = *place.spec;
  const std::int64_t items = place.items;
  if (row.items_per_sample == 0) {
    std::int64_t passes = 1;
    if (!spec.single_pass) {
      const std::int64_t least = spec.min_items / items + (spec.min_items % items > 0 ? 1 : 0);
      passes = std::max(passes_per_sample(place.pass_ns, min_sample_ns(policy_)), least);
    }
    SLUICE_TRY(row.items_per_sample, items_per_sample(items, passes));
  }
  if (row.items_per_sample % items == 0) return ok;
  return Error{Errc::measurement,
               fmt::format("prepare: {} items per pass, which does not divide the {} of the "
                           "samples already taken",
                           items, row.items_per_sample)};
}

/// `samples` samples, while every other worker is stopped and we wait.
Status Schedule::turn(Place& place, WorkerSession& session, int samples) {
  const double idle_ms = session.resume();
  if (place.run.samples_ns.empty()) place.run.idle_before_ms = idle_ms;
  const Run before = place.run;
  const std::size_t goal = before.samples_ns.size() + static_cast<std::size_t>(samples);
  for (int attempt = 0;; ++attempt) {
    SLUICE_CHECK(fill(place, session, goal));
    if (attempt == kResizings || !before.samples_ns.empty()) break;
    SLUICE_TRY(const bool again, resized(place));
    if (!again) break;
    place.run = before;
  }
  session.pause();
  return ok;
}

/// A worker that knows no `samples` gives one at a time and is asked again, without warming up.
Status Schedule::fill(Place& place, WorkerSession& session, std::size_t goal) {
  Row& row = *place.row;
  for (bool first = true; first || place.run.samples_ns.size() < goal; first = false) {
    const Measure request{place.spec->case_name, row.items_per_sample / place.items,
                          first ? policy_.warmup_ms : 0.0, first ? policy_.warmup_limit_ms : 0.0,
                          static_cast<std::int64_t>(goal - place.run.samples_ns.size())};
    const double expected_s = static_cast<double>(place.pass_ns) * 1e-9 *
                              static_cast<double>(request.passes) *
                              static_cast<double>(request.samples);
    if (stop_requested()) return Error{Errc::interrupted, "interrupted"};
    Witness witness;
    SLUICE_TRY(
        const auto answer,
        session.ask(request, policy_.step_timeout_s + rules_.patience * expected_s, &witness));
    if (!place.spec->single_pass)
      SLUICE_CHECK(
          check_work(request, answer, witness,
                     static_cast<double>(place.pass_ns) * static_cast<double>(request.passes)));
    SLUICE_CHECK(add_sample(place.run, answer, row.items_per_sample));
    keep_gpu_memory(row, answer);
  }
  return ok;
}

/// True: the first samples of the row were too short, and will have more passes.
Result<bool> Schedule::resized(Place& place) {
  if (rules_.preflight_items == 0 || !place.row->runs.empty()) return false;
  const std::vector<std::int64_t>& taken = place.run.samples_ns;
  const std::int64_t elapsed = std::accumulate(taken.begin(), taken.end(), std::int64_t{0}) /
                               static_cast<std::int64_t>(taken.size());
  const std::int64_t min_ns = min_sample_ns(policy_);
  if (elapsed >= min_ns) return false;
  const std::int64_t passes = place.row->items_per_sample / place.items;
  SLUICE_TRY(
      place.row->items_per_sample,
      items_per_sample(place.items, passes_per_sample(std::max<std::int64_t>(1, elapsed / passes),
                                                      min_ns + min_ns / 10)));
  return true;
}

/// The run goes into its row, its process where its lifetime says.
void Schedule::keep(Place& place, WorkerSession& session) {
  Row& row = *place.row;
  const auto peak = rules_.lifetime == Lifetime::block ? session.stop() : peak_bytes(session.pid());
  if (peak) row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *peak);
  row.runs.push_back(std::move(place.run));
}

void Schedule::give_up(Place& place, const Error& error) {
  Row& row = *place.row;
  place.open = false;
  fail(row, error);
  // In a session every library is asked every case, and what it does not have is no news.
  if (row.status == RowStatus::failed || rules_.lifetime == Lifetime::block)
    log::warn("{} in {}: {}: {}", row.case_name, row.library, to_string(row.status), row.reason);
  if (context_.goes_on && !context_.goes_on(row)) ended_ = true;
}

bool Schedule::stop_requested() const {
  return ended_ || (context_.interrupted && context_.interrupted());
}

std::vector<std::size_t> Schedule::order(std::size_t n, int block, int round) const {
  return shuffled(n, {policy_.seed, static_cast<std::uint64_t>(block),
                      static_cast<std::uint64_t>(round), rules_.case_number, kTurnStage});
}

WorkerSession& Schedule::seat_of(Place& place, int block) const {
  return place.seats[static_cast<std::size_t>(block) % place.seats.size()];
}

template <class Message>
Result<typename Message::Answer> Schedule::ask(WorkerSession& session, const Message& message,
                                               double timeout_s) const {
  if (stop_requested()) return Error{Errc::interrupted, "interrupted"};
  return session.ask(message, timeout_s);
}

std::size_t padding_bytes(const RngKey& key) {
  constexpr std::size_t kMostBytes = 4096;
  Rng rng(key);
  return static_cast<std::size_t>(rng.below(kMostBytes));
}

Run new_run(const std::string& session_id, const Row& row, int block, std::int64_t pid) {
  Run run;
  run.run_id = fmt::format("{}/{}/{}/{}", session_id, row.case_name, row.library, block);
  run.pid = pid;
  run.block = block;
  return run;
}

Result<std::int64_t> items_per_sample(std::int64_t items_per_pass, std::int64_t passes) {
  std::int64_t items = 0;
  if (__builtin_mul_overflow(items_per_pass, passes, &items))
    return Error{Errc::measurement,
                 fmt::format("prepare: items_per_pass is {}; expected a number whose sample can be "
                             "counted",
                             items_per_pass)};
  return items;
}

void fail(Row& row, const Error& error) {
  row.status = error.code == Errc::unsupported ? RowStatus::unsupported : RowStatus::failed;
  row.reason = error.message;
}

Status close_row(Row& row, const SubjectSpec& spec, const Policy& policy) {
  summarise(row, policy.unstable_cv);
  const ThreadPolicy& threads = row.thread_policy;
  if (threads.cpu_per_wall <=
      spec.cpu_limit.value_or(policy.single_thread_cpu_limit * threads.asked) +
          spare_cores(row.runs))
    return ok;
  return Error{Errc::measurement,
               fmt::format("thread policy violated: {:.2f} cores busy, {}", threads.cpu_per_wall,
                           threads.name.empty()
                               ? fmt::format("{} asked for", threads.asked)
                               : fmt::format("{} asks for {}", threads.name, threads.asked))};
}

}  // namespace sluice::measure
