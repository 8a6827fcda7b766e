// sluice/measure/worker/session.cpp - the first messages of every worker, its pauses and its end.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/session.h"

namespace sluice::measure {

SessionOptions session_options(const SubjectSpec& spec, const RunnerContext& context,
                               double timeout_s, std::uint64_t seed) {
  SessionOptions options;
  options.launch.command = spec.command;
  options.launch.environment = spec.environment;
  if (!context.log_dir.empty()) options.launch.log_file = context.log_dir / (spec.library + ".log");
  options.launch.cancel_fd = context.cancel_fd;
  options.configure = {spec.threads, "cpu", seed, spec.thread_policy};
  options.load = Load{.data_dir = spec.data_dir};
  options.timeout_s = timeout_s;
  return options;
}

Status WorkerSession::start(const SessionOptions& options, const RunnerContext& context) {
  clock_ = context.clock;
  SLUICE_TRY(worker_, context.launcher->launch(options.launch));
  Status greeted = greet(options);
  if (!greeted) kill();
  return greeted;
}

Status WorkerSession::greet(const SessionOptions& options) {
  SLUICE_TRY(hello_, ask(Hello{}, options.timeout_s));
  SLUICE_TRY(configured_, ask(options.configure, options.timeout_s));
  if (options.load) SLUICE_CHECK(ask(*options.load, options.timeout_s));
  return ok;
}

Result<Measure::Answer> WorkerSession::ask(const Measure& message, double timeout_s,
                                           Witness* witness) {
  Witness seen;
  const auto cpu_before = worker_->cpu_ns();
  seen.asked_ns = clock_->now_ns();
  auto answer = measure::ask(*worker_, message, timeout_s);
  seen.answered_ns = clock_->now_ns();
  if (!answer) return answer;
  if (const auto cpu_after = worker_->cpu_ns(); cpu_before && cpu_after)
    seen.cpu_ns = *cpu_after - *cpu_before;
  SLUICE_CHECK(check_times(*answer, seen));
  if (witness != nullptr) *witness = seen;
  return answer;
}

void WorkerSession::pause() {
  worker_->pause();
  paused_ns_ = clock_->now_ns();
}

double WorkerSession::resume() {
  const std::int64_t now_ns = clock_->now_ns();
  worker_->resume();
  return static_cast<double>(now_ns - paused_ns_) * 1e-6;
}

std::optional<std::int64_t> WorkerSession::stop() {
  if (worker_ == nullptr) return std::nullopt;
  worker_->finish();
  const auto peak = worker_->peak_rss_bytes();
  worker_.reset();
  return peak;
}

}  // namespace sluice::measure
