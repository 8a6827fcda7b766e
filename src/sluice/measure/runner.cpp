// sluice/measure/runner.cpp - blocks until the stop rule is satisfied, resumed where they ended.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/runner.h"

#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/measure/schedule.h"
#include "sluice/measure/stop_rule.h"
#include "sluice/measure/summary.h"
#include "sluice/measure/worker/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

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

constexpr std::uint32_t kPaddingStage = 2;  // of RngKey: the size of the environment

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
    sessions_.resize(subjects_.size());
    for (std::size_t i = 0; i < subjects_.size(); ++i)
      places_.push_back({&subjects_[i], &rows_[i], std::span(&sessions_[i], 1)});
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
    // To make a run ready, which starts and checks a process, may take longer than to time it: both
    // are steps.
    const std::uint64_t steps = 2 * subjects_.size();
    auto bar = context_.progress->bar("measuring", static_cast<std::uint64_t>(policy_.runs) * steps,
                                      "steps");
    Schedule schedule(places_, {}, policy_, context_,
                      [&](std::size_t i, std::size_t, int of) { return start(i, of); });
    schedule.on_ready = [&](const Row& row) { bar.add(1, row.case_name + " is ready"); };
    while (!done()) {
      bar.set(static_cast<std::uint64_t>(block) * steps);
      for (std::size_t i = 0; i < places_.size(); ++i)
        places_[i].open = !settled(i);
      const Status measured =
          schedule.run_block(block, [&](const Row& row) { bar.add(1, row.case_name); });
      if (!measured) return WaveResult{std::move(rows_), true};
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

  /// A fresh process.
  Status start(std::size_t i, int block) {
    const SubjectSpec& spec = subjects_[i];
    SessionOptions options =
        session_options(spec, context_, policy_.step_timeout_s, subject_seed(policy_));
    options.launch.cpus = spec.cpus.empty() ? policy_.cpus : spec.cpus;
    options.launch.environment_padding =
        padding_bytes({policy_.seed, static_cast<std::uint64_t>(block), i, 0, kPaddingStage});
    return sessions_[i].start(options, context_);
  }

  void close_block(std::size_t index, bool enough) {
    Row& row = rows_[index];
    const Status held = close_row(row, subjects_[index], policy_);
    if (terminal(row) || row.runs.empty()) return;
    if (!held) {
      fail(row, held.error());
      log::warn("{} in {}: failed: {}", row.case_name, row.library, row.reason);
      return;
    }
    row.status = enough ? RowStatus::ok : RowStatus::skipped;
    row.reason = enough ? ""
                        : fmt::format("interrupted after {} of {} runs; continue with --resume",
                                      row.runs.size(), policy_.runs);
  }

  const std::vector<SubjectSpec>& subjects_;
  const Policy& policy_;
  const RunnerContext& context_;
  std::vector<Row> rows_;
  std::vector<bool> closed_;  // finished in an earlier visit: kept as they are
  std::vector<WorkerSession> sessions_;
  std::vector<Place> places_;
};

}  // namespace

Result<WaveResult> run_wave(const std::vector<SubjectSpec>& subjects, const Policy& policy,
                            const RunnerContext& context, std::vector<Row> so_far) {
  SLUICE_CHECK(check(policy));
  SLUICE_CHECK(check_so_far(so_far, subjects));
  return Wave(subjects, policy, context, std::move(so_far)).run();
}

}  // namespace sluice::measure
