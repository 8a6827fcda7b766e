// sluice/measure/runner.cpp - blocks, runs, samples: the supervisor's side of a measurement.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/runner.h"

#include "sluice/core/log.h"
#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/measure/sampler.h"
#include "sluice/measure/stop_rule.h"
#include "sluice/measure/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sluice::measure {
namespace {

constexpr std::size_t kMaxPaddingBytes = 4096;
constexpr std::uint32_t kOrderStage = 1;    // of RngKey: the order within a block
constexpr std::uint32_t kPaddingStage = 2;  // the size of the environment

/// A subject in the block under way.
struct Active {
  std::size_t index = 0;  // of its row
  std::unique_ptr<Worker> worker;
  Run run;
  std::int64_t paused_ns = 0;  // when it was last stopped
};

bool terminal(const Row& row) {
  return row.status == RowStatus::failed || row.status == RowStatus::unsupported ||
         row.status == RowStatus::early_stopped;
}

class Wave {
 public:
  Wave(const std::vector<SubjectSpec>& subjects, const Policy& policy, const RunnerContext& context,
       std::vector<Row> so_far)
      : subjects_(subjects), policy_(policy), context_(context), rows_(std::move(so_far)) {
    if (rows_.size() != subjects_.size()) rows_.assign(subjects_.size(), Row{});
    for (std::size_t i = 0; i < subjects_.size(); ++i)
      describe(rows_[i], subjects_[i]);
  }

  Result<WaveResult> run() {
    const auto rule = make_stop_rule(policy_);
    const std::int64_t start_ns = context_.clock->now_ns();
    const auto elapsed_s = [&] {
      return static_cast<double>(context_.clock->now_ns() - start_ns) * 1e-9;
    };
    const auto done = [&] {
      return std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
        return terminal(row) || rule->finished(run_rates(row), elapsed_s());
      });
    };
    int block = blocks_finished();
    auto bar = context_.progress->bar(
        "measuring", static_cast<std::uint64_t>(policy_.runs) * subjects_.size(), "run");
    while (!done()) {
      bar.set(static_cast<std::uint64_t>(block) * subjects_.size());
      if (!run_block(block, bar)) return WaveResult{std::move(rows_), true};
      ++block;
      for (Row& row : rows_)
        close_block(row, rule->finished(run_rates(row), elapsed_s()));
      if (context_.on_block) SLUICE_CHECK(context_.on_block(rows_));
    }
    return WaveResult{std::move(rows_), false};
  }

 private:
  static void describe(Row& row, const SubjectSpec& spec) {
    row.case_name = spec.case_name;
    row.params = spec.params;
    row.library = spec.library;
    row.thread_policy.asked = spec.threads;
    row.unit = spec.unit;
    row.better = spec.better;
    if (terminal(row)) {  // measured again from the start
      row.runs.clear();
      row.summary.reset();
    }
    row.status = RowStatus::skipped;
    row.reason = "not measured yet";
  }

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

  std::vector<std::size_t> shuffled(std::size_t n, int block, int round) const {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    Rng rng(RngKey{policy_.seed, static_cast<std::uint64_t>(block),
                   static_cast<std::uint64_t>(round), 0, kOrderStage});
    rng.shuffle(std::span<std::size_t>(order));
    return order;
  }

  /// False: interrupted; the runs of this block are dropped with their processes.
  bool run_block(int block, Progress::Bar& bar) {
    std::vector<Active> active;
    for (const std::size_t i : shuffled(subjects_.size(), block, 0)) {
      if (terminal(rows_[i])) continue;
      if (stop_requested()) return false;
      Active subject;
      subject.index = i;
      subject.run.block = block;
      if (auto started = guarded([&] { return start(subject); }); !started) {
        if (started.error().code == Errc::interrupted) return false;
        fail(rows_[i], started.error());
        continue;
      }
      if (terminal(rows_[i])) continue;  // early-stopped by the preflight
      active.push_back(std::move(subject));
    }
    for (int sample = 0; sample < policy_.samples_per_run; ++sample) {
      int position = 0;
      for (const std::size_t k : shuffled(active.size(), block, sample + 1)) {
        Active& subject = active[k];
        if (terminal(rows_[subject.index])) continue;
        if (stop_requested()) return false;
        if (sample == 0) subject.run.position = position;
        ++position;
        if (auto taken = guarded([&] { return take(subject); }); !taken) {
          if (taken.error().code == Errc::interrupted) return false;
          fail(rows_[subject.index], taken.error());
          subject.worker.reset();
        }
        if (sample + 1 == policy_.samples_per_run) bar.add(1, subjects_[subject.index].case_name);
      }
    }
    for (Active& subject : active)
      keep(subject);
    return true;
  }

  /// A fresh process, brought to the point where it only has to run; then stopped.
  Status start(Active& subject) {
    const SubjectSpec& spec = subjects_[subject.index];
    Row& row = rows_[subject.index];
    const int block = subject.run.block;
    Rng rng(
        RngKey{policy_.seed, static_cast<std::uint64_t>(block), subject.index, 0, kPaddingStage});
    LaunchOptions options;
    options.command = spec.command;
    if (!context_.log_dir.empty()) options.log_file = context_.log_dir / (spec.library + ".log");
    options.environment_padding = static_cast<std::size_t>(rng.below(kMaxPaddingBytes));
    options.cpus = policy_.cpus;
    options.cancel_fd = context_.cancel_fd;
    SLUICE_TRY(subject.worker, context_.launcher->launch(options));
    subject.run.pid = subject.worker->pid();
    subject.run.run_id =
        fmt::format("{}/{}/{}/{}", context_.session_id, spec.case_name, spec.library, block);

    SLUICE_TRY(const Json hello, ask(subject, {{"type", "hello"}, {"protocol", 1}}));
    row.library_version = hello.value("version", "");
    SLUICE_TRY(const Json configured, ask(subject, {{"type", "configure"},
                                                    {"threads", spec.threads},
                                                    {"device", "cpu"},
                                                    {"seed", policy_.seed}}));
    row.thread_policy.in_force = configured.value("threads", 0);
    SLUICE_TRY(const Json loaded,
               ask(subject, {{"type", "load"}, {"data_dir", spec.data_dir.string()}}));
    (void)loaded;
    SLUICE_TRY(const Json prepared, ask(subject, {{"type", "prepare"}, {"case", spec.case_name}}));
    SLUICE_CHECK(check_output(subject));
    SLUICE_CHECK(preflight(subject, prepared));
    pause(subject);
    return ok;
  }

  /// Results before times: no digest, no sample; and the same digest in every process.
  Status check_output(Active& subject) {
    Row& row = rows_[subject.index];
    SLUICE_TRY(const Json checked, ask(subject, {{"type", "check"}}));
    const std::string digest = checked.value("digest", "");
    if (digest.empty())
      return Error{Errc::measurement, "check: the worker gave no digest of its output"};
    if (!row.output_digest.empty() && row.output_digest != digest) {
      return Error{Errc::measurement,
                   fmt::format("check: output differs between runs (digest {}, earlier {})",
                               printable(digest), row.output_digest)};
    }
    row.output_digest = digest;
    return ok;
  }

  /// Sizes the samples of the row in its first run; a subject that is too slow is stopped here.
  Status preflight(Active& subject, const Json& prepared) {
    Row& row = rows_[subject.index];
    const auto items = prepared.value("items_per_pass", std::int64_t{0});
    if (items < 1)
      return Error{Errc::measurement,
                   fmt::format("prepare: {} items per pass; expected at least 1", items)};
    row.bytes_per_item = prepared.value("bytes_per_item", 0.0);
    SLUICE_TRY(const Json timed,
               ask(subject, {{"type", "preflight"}, {"slow_item_s", policy_.slow_item_s}}));
    const auto pass_ns = timed.value("pass_ns", std::int64_t{0});
    const double item_s = static_cast<double>(pass_ns) * 1e-9 / static_cast<double>(items);
    if (policy_.slow_item_s > 0 && item_s >= policy_.slow_item_s) {
      row.status = RowStatus::early_stopped;
      row.reason = fmt::format("preflight: {:.3g} s per item, the limit is {:g} s", item_s,
                               policy_.slow_item_s);
      subject.worker->finish();
      return ok;
    }
    if (row.items_per_sample == 0) {
      const auto min_ns = static_cast<std::int64_t>(policy_.min_sample_ms * 1e6);
      row.items_per_sample = items * passes_per_sample(pass_ns, min_ns);
    }
    if (row.items_per_sample % items != 0) {
      return Error{Errc::measurement,
                   fmt::format("prepare: {} items per pass, which does not divide the {} of the "
                               "samples already taken",
                               items, row.items_per_sample)};
    }
    passes_[subject.index] = row.items_per_sample / items;
    return ok;
  }

  /// One sample, while every other worker is stopped and we wait.
  Status take(Active& subject) {
    const std::int64_t resumed_ns = context_.clock->now_ns();
    subject.worker->resume();
    SLUICE_TRY(const Json reply, ask(subject, {{"type", "measure"},
                                               {"case", subjects_[subject.index].case_name},
                                               {"passes", passes_.at(subject.index)},
                                               {"warmup_ms", policy_.warmup_ms},
                                               {"warmup_limit_ms", policy_.warmup_limit_ms}}));
    Run& run = subject.run;
    if (run.samples_ns.empty()) {
      run.start_ns = reply.value("start_ns", std::int64_t{0});
      run.idle_before_ms = static_cast<double>(resumed_ns - subject.paused_ns) * 1e-6;
    }
    pause(subject);
    for (const Json& sample : reply.value("samples_ns", Json::array())) {
      const auto ns = sample.is_number_integer() ? sample.get<std::int64_t>() : std::int64_t{0};
      if (ns <= 0)
        return Error{Errc::measurement, fmt::format("measure: a sample of {} ns", sample.dump())};
      run.samples_ns.push_back(ns);
    }
    if (run.samples_ns.empty())
      return Error{Errc::measurement, "measure: the worker returned no samples"};
    run.warmup_discarded += reply.value("warmup_passes", 0);
    run.cpu_ns += reply.value("cpu_ns", std::int64_t{0});
    run.major_faults += reply.value("major_faults", std::int64_t{0});
    run.involuntary_switches += reply.value("involuntary_switches", std::int64_t{0});
    run.throttled = run.throttled || reply.value("throttled", false);
    read_counters(run, reply);
    return ok;
  }

  static void read_counters(Run& run, const Json& reply) {
    const Json counters = reply.value("counters", Json());
    if (!counters.is_object()) {
      run.counters = {std::nullopt,
                      reply.value("counters_reason", std::string("the worker counts none"))};
      return;
    }
    run.counters = {HardwareCounters{counters.value("cycles", std::uint64_t{0}),
                                     counters.value("instructions", std::uint64_t{0}),
                                     counters.value("cache_misses", std::uint64_t{0}),
                                     counters.value("branch_misses", std::uint64_t{0})},
                    ""};
  }

  /// Ends the process and moves its run into the row, unless something went wrong on the way.
  void keep(Active& subject) {
    Row& row = rows_[subject.index];
    if (subject.worker == nullptr || terminal(row)) return;
    subject.worker->finish();
    if (const auto rss = subject.worker->peak_rss_bytes()) {
      row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *rss);
    }
    row.runs.push_back(std::move(subject.run));
  }

  void close_block(Row& row, bool enough) const {
    summarise(row, policy_.unstable_cv);
    if (terminal(row)) return;
    const double limit = policy_.single_thread_cpu_limit * row.thread_policy.asked;
    if (row.thread_policy.cpu_per_wall > limit) {
      fail(row, {Errc::measurement,
                 fmt::format("thread policy violated: {:.2f} cores busy, {} asked for",
                             row.thread_policy.cpu_per_wall, row.thread_policy.asked)});
      return;
    }
    row.status = enough ? RowStatus::ok : RowStatus::skipped;
    row.reason = enough ? ""
                        : fmt::format("interrupted after {} of {} runs; continue with --resume",
                                      row.runs.size(), policy_.runs);
  }

  static void fail(Row& row, const Error& error) {
    row.status = error.code == Errc::unsupported ? RowStatus::unsupported : RowStatus::failed;
    row.reason = error.message;
    log::warn("{} in {}: {}: {}", row.case_name, row.library, to_string(row.status), row.reason);
  }

  void pause(Active& subject) const {
    subject.worker->pause();
    subject.paused_ns = context_.clock->now_ns();
  }

  /// A reply may hold a field of the wrong type; reading it throws, and that costs the row like any
  /// other answer.
  template <class Step>
  static Status guarded(Step&& step) {
    try {
      return step();
    } catch (const Json::exception& problem) {
      return Error{Errc::measurement,
                   fmt::format("the worker's answer cannot be read: {}", problem.what())};
    }
  }

  Result<Json> ask(Active& subject, Json request) const {
    return subject.worker->request(std::move(request), policy_.step_timeout_s);
  }

  const std::vector<SubjectSpec>& subjects_;
  const Policy& policy_;
  const RunnerContext& context_;
  std::vector<Row> rows_;
  std::map<std::size_t, std::int64_t> passes_;  // per sample, by subject
};

}  // namespace

Result<WaveResult> run_wave(const std::vector<SubjectSpec>& subjects, const Policy& policy,
                            const RunnerContext& context, std::vector<Row> so_far) {
  return Wave(subjects, policy, context, std::move(so_far)).run();
}

}  // namespace sluice::measure
