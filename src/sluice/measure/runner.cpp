// sluice/measure/runner.cpp - blocks, runs, samples: the supervisor's side of a measurement.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/runner.h"

#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/measure/sampler.h"
#include "sluice/measure/schedule.h"
#include "sluice/measure/session.h"
#include "sluice/measure/stop_rule.h"
#include "sluice/measure/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::measure {

void put_spec(Row& row, const SubjectSpec& spec) {
  row.case_name = spec.case_name;
  row.params = spec.params;
  row.library = spec.library;
  row.thread_policy.asked = spec.threads;
  row.thread_policy.name = spec.thread_policy;
  row.unit = spec.unit;
  row.better = spec.better;
}

Row refused_row(const SubjectSpec& spec, const Error& error) {
  Row row;
  put_spec(row, spec);
  fail(row, error);
  return row;
}

namespace {

constexpr std::uint32_t kOrderStage = 1;    // of RngKey: the order within a block
constexpr std::uint32_t kPaddingStage = 2;  // the size of the environment

/// A subject in the block under way.
struct Active {
  std::size_t index = 0;  // of its row
  WorkerSession session;
  Run run;
  std::int64_t passes = 1;  // per sample
};

bool terminal(const Row& row) {
  return row.status == RowStatus::failed || row.status == RowStatus::unsupported ||
         row.status == RowStatus::early_stopped;
}

/// Nothing more to be measured here, whatever other rows need.
bool finished_earlier(const Row& row, const Policy& policy) {
  if (row.status == RowStatus::ok)
    return run_rates(row).size() >= static_cast<std::size_t>(policy.runs);
  return row.status == RowStatus::unsupported || row.status == RowStatus::early_stopped;
}

/// `so_far` is empty, or holds for every subject its own row or an empty one.
Status check_so_far(const std::vector<Row>& so_far, const std::vector<SubjectSpec>& subjects) {
  if (so_far.empty()) return ok;
  if (so_far.size() != subjects.size()) {
    return Error{Errc::invalid_input, fmt::format("resume: {} earlier rows; expected {}",
                                                  so_far.size(), subjects.size())};
  }
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Row& row = so_far[i];
    const bool same = row.case_name == subjects[i].case_name && row.library == subjects[i].library;
    if (!same && !(row.case_name.empty() && row.runs.empty())) {
      return Error{Errc::invalid_input,
                   fmt::format("resume: earlier row {} is {} in {}; expected {} in {}", i,
                               printable(row.case_name), printable(row.library),
                               subjects[i].case_name, subjects[i].library)};
    }
  }
  return ok;
}

class Wave {
 public:
  Wave(const std::vector<SubjectSpec>& subjects, const Policy& policy, const RunnerContext& context,
       std::vector<Row> so_far)
      : subjects_(subjects), policy_(policy), context_(context), rows_(std::move(so_far)) {
    rows_.resize(subjects_.size());
    std::set<std::string> unfinished;  // cases: measured further in all their libraries
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      if (!finished_earlier(rows_[i], policy_)) unfinished.insert(subjects_[i].case_name);
    }
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      closed_.push_back(unfinished.count(subjects_[i].case_name) == 0);
      if (!closed_[i]) describe(rows_[i], subjects_[i]);
    }
  }

  Result<WaveResult> run() {
    const auto rule = make_stop_rule(policy_);
    const std::int64_t start_ns = context_.clock->now_ns();
    const auto enough = [&](std::size_t i) {
      const auto elapsed_ns = static_cast<double>(context_.clock->now_ns() - start_ns);
      return rule->finished(rates_for(policy_.stop, rows_[i]), elapsed_ns * 1e-9);
    };
    const auto done = [&] {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!settled(i) && !enough(i)) return false;
      }
      return true;
    };
    const auto close_all = [&] {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!closed_[i]) close_block(i, enough(i));
      }
    };
    close_all();  // what an earlier visit measured
    int block = blocks_finished();
    auto bar = context_.progress->bar(
        "measuring", static_cast<std::uint64_t>(policy_.runs) * subjects_.size(), "runs");
    while (!done()) {
      bar.set(static_cast<std::uint64_t>(block) * subjects_.size());
      if (!run_block(block, bar)) return WaveResult{std::move(rows_), true};
      ++block;
      close_all();
      if (context_.on_block) SLUICE_CHECK(context_.on_block(rows_));
    }
    return WaveResult{std::move(rows_), false};
  }

 private:
  static void describe(Row& row, const SubjectSpec& spec) {
    if (terminal(row)) row = Row{};  // measured again from the start
    put_spec(row, spec);
    row.status = RowStatus::skipped;
    row.reason = "not measured yet";
  }

  /// Nothing is measured for this row any more.
  [[nodiscard]] bool settled(std::size_t i) const { return closed_[i] || terminal(rows_[i]); }

  [[nodiscard]] int blocks_finished() const {
    int blocks = 0;
    for (const Row& row : rows_) {
      for (const Run& run : row.runs)
        blocks = std::max(blocks, run.block + 1);
    }
    return blocks;
  }

  [[nodiscard]] bool stop_requested() const {
    return context_.interrupted && context_.interrupted();
  }

  [[nodiscard]] std::vector<std::size_t> order(std::size_t n, int block, int round) const {
    return shuffled(n, {policy_.seed, static_cast<std::uint64_t>(block),
                        static_cast<std::uint64_t>(round), 0, kOrderStage});
  }

  /// False: interrupted; the runs of this block are dropped with their processes.
  bool run_block(int block, Progress::Bar& bar) {
    std::vector<Active> active;
    for (const std::size_t i : order(subjects_.size(), block, 0)) {
      if (settled(i)) continue;
      if (stop_requested()) return false;
      Active subject;
      subject.index = i;
      if (auto started = start(subject, block); !started) {
        if (started.error().code == Errc::interrupted) return false;
        give_up(rows_[i], started.error());
        continue;
      }
      if (terminal(rows_[i])) continue;  // early-stopped by the preflight
      active.push_back(std::move(subject));
    }
    const int per_turn = policy_.samples_per_turn;
    const int turns = (policy_.samples_per_run + per_turn - 1) / per_turn;
    for (int turn = 0; turn < turns; ++turn) {
      const int samples = std::min(per_turn, policy_.samples_per_run - turn * per_turn);
      int position = 0;
      for (const std::size_t k : order(active.size(), block, turn + 1)) {
        Active& subject = active[k];
        if (terminal(rows_[subject.index])) continue;
        if (stop_requested()) return false;
        if (turn == 0) subject.run.position = position;
        ++position;
        if (auto taken = take(subject, samples); !taken) {
          if (taken.error().code == Errc::interrupted) return false;
          give_up(rows_[subject.index], taken.error());
          subject.session.kill();
        }
        if (turn + 1 == turns) bar.add(1, subjects_[subject.index].case_name);
      }
    }
    for (Active& subject : active)
      keep(subject);
    return true;
  }

  /// A fresh process, brought to the point where it only has to run; then stopped.
  Status start(Active& subject, int block) {
    const SubjectSpec& spec = subjects_[subject.index];
    Row& row = rows_[subject.index];
    const double timeout_s = policy_.step_timeout_s;
    SessionOptions options = session_options(spec, context_, timeout_s, policy_.seed);
    options.launch.cpus = spec.cpus.empty() ? policy_.cpus : spec.cpus;
    options.launch.environment_padding = padding_bytes(
        {policy_.seed, static_cast<std::uint64_t>(block), subject.index, 0, kPaddingStage});
    SLUICE_CHECK(subject.session.start(options, context_));
    row.library_version = subject.session.hello().version;
    row.thread_policy.in_force = subject.session.configured().threads;
    subject.run = new_run(context_.session_id, row, block, subject.session.pid());
    SLUICE_TRY(const auto prepared,
               subject.session.ask(Prepare{spec.case_name, spec.spec}, timeout_s));
    row.bytes_per_item = prepared.bytes_per_item;
    SLUICE_TRY(const auto checked, subject.session.ask(Check{}, timeout_s));
    SLUICE_CHECK(keep_digest(row, checked.digest, "runs"));
    SLUICE_CHECK(size_samples(subject, prepared.items_per_pass));
    if (subject.session.alive()) subject.session.pause();
    return ok;
  }

  /// Sizes the samples of the row in its first run; a subject that is too slow is stopped here.
  Status size_samples(Active& subject, std::int64_t items) {
    const SubjectSpec& spec = subjects_[subject.index];
    Row& row = rows_[subject.index];
    if (spec.single_pass) {
      if (row.items_per_sample == 0) row.items_per_sample = items;
    } else {
      SLUICE_TRY(const auto timed,
                 subject.session.ask(Preflight{.slow_item_s = policy_.slow_item_s},
                                     policy_.step_timeout_s));
      const bool first_run = row.runs.empty();  // later, one slow pass is a hiccup
      if (first_run && stopped_early(row, timed.pass_ns, items, policy_)) {
        subject.session.stop();
        return ok;
      }
      if (row.items_per_sample == 0) {
        const auto min_ns = static_cast<std::int64_t>(policy_.min_sample_ms * 1e6);
        const std::int64_t least = spec.min_items / items + (spec.min_items % items > 0 ? 1 : 0);
        SLUICE_TRY(
            row.items_per_sample,
            items_per_sample(items, std::max(passes_per_sample(timed.pass_ns, min_ns), least)));
      }
    }
    if (row.items_per_sample % items != 0) {
      return Error{Errc::measurement,
                   fmt::format("prepare: {} items per pass, which does not divide the {} of the "
                               "samples already taken",
                               items, row.items_per_sample)};
    }
    subject.passes = row.items_per_sample / items;
    return ok;
  }

  /// One turn of `samples` samples, while every other worker is stopped and we wait. A worker that
  /// knows no `samples` gives one at a time and is asked again, without warming up.
  Status take(Active& subject, int samples) {
    const double idle_ms = subject.session.resume();
    if (subject.run.samples_ns.empty()) subject.run.idle_before_ms = idle_ms;
    const std::size_t goal = subject.run.samples_ns.size() + static_cast<std::size_t>(samples);
    for (bool first = true; first || subject.run.samples_ns.size() < goal; first = false) {
      const Measure request{subjects_[subject.index].case_name, subject.passes,
                            first ? policy_.warmup_ms : 0.0, first ? policy_.warmup_limit_ms : 0.0,
                            static_cast<std::int64_t>(goal - subject.run.samples_ns.size())};
      SLUICE_TRY(const auto answer, subject.session.ask(request, policy_.step_timeout_s));
      SLUICE_CHECK(add_sample(subject.run, answer, rows_[subject.index].items_per_sample));
    }
    subject.session.pause();
    return ok;
  }

  /// Ends the process and moves its run into the row, unless something went wrong on the way.
  void keep(Active& subject) {
    Row& row = rows_[subject.index];
    if (!subject.session.alive() || terminal(row)) return;
    if (const auto rss = subject.session.stop())
      row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *rss);
    row.runs.push_back(std::move(subject.run));
  }

  void close_block(std::size_t index, bool enough) {
    Row& row = rows_[index];
    summarise(row, policy_.unstable_cv);
    if (terminal(row) || row.runs.empty()) return;
    const double limit = subjects_[index].cpu_limit.value_or(policy_.single_thread_cpu_limit *
                                                             row.thread_policy.asked);
    if (const Status held = hold_thread_policy(row, limit); !held) {
      give_up(row, held.error());
      return;
    }
    row.status = enough ? RowStatus::ok : RowStatus::skipped;
    row.reason = enough ? ""
                        : fmt::format("interrupted after {} of {} runs; continue with --resume",
                                      row.runs.size(), policy_.runs);
  }

  static void give_up(Row& row, const Error& error) {
    fail(row, error);
    log::warn("{} in {}: {}: {}", row.case_name, row.library, to_string(row.status), row.reason);
  }

  const std::vector<SubjectSpec>& subjects_;
  const Policy& policy_;
  const RunnerContext& context_;
  std::vector<Row> rows_;
  std::vector<bool> closed_;  // finished in an earlier visit: kept as they are
};

}  // namespace

Result<WaveResult> run_wave(const std::vector<SubjectSpec>& subjects, const Policy& policy,
                            const RunnerContext& context, std::vector<Row> so_far) {
  SLUICE_CHECK(check(policy));
  SLUICE_CHECK(check_so_far(so_far, subjects));
  return Wave(subjects, policy, context, std::move(so_far)).run();
}

}  // namespace sluice::measure
