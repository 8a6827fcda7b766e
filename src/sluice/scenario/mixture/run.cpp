// sluice/scenario/mixture/run.cpp - the loop over batches, and what it comes to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/run.h"

#include "sluice/core/text.h"
#include "sluice/measure/usage.h"
#include "sluice/scenario/batch.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <unistd.h>

namespace sluice::scenario {
namespace {

using loader::mixture::Mixture;
using loader::mixture::MixtureOptions;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

std::size_t most_blocks(const MixtureOptions& options) {
  return static_cast<std::size_t>(options.batch_size / options.mix_block);
}

Status add_times(MixtureRun& run, const std::vector<double>& times) {
  constexpr double kAsked[] = {50, 90, 99, 100};
  SLUICE_TRY(const auto found, stats::percentiles(times, kAsked));
  run.p50_s = found[0];
  run.p90_s = found[1];
  run.p99_s = found[2];
  run.max_s = found[3];
  run.measured_s = std::accumulate(times.begin(), times.end(), 0.0);
  run.mean_s = run.measured_s / static_cast<double>(times.size());
  return ok;
}

}  // namespace

double MixtureRun::batches_per_s() const {
  return measured_s > 0 ? static_cast<double>(batches) / measured_s : 0;
}

double MixtureRun::samples_per_s() const {
  return batches_per_s() * batch_size;
}

MixtureLoop::MixtureLoop(MixtureSpec spec, Clock& clock) : spec_(std::move(spec)), clock_(clock) {}

MixtureLoop::MixtureLoop(MixtureSpec spec, const loader::episodes::Preset& preset, Clock& clock)
    : spec_(std::move(spec)), preset_(&preset), clock_(clock) {}

MixtureLoop::~MixtureLoop() = default;

Status MixtureLoop::open() {
  start_ns_ = clock_.now_ns();
  SLUICE_TRY(auto sources,
             preset_ != nullptr ? open_sources(spec_, *preset_) : open_sources(spec_));
  SLUICE_TRY(mixture_, Mixture::open(std::move(sources), spec_.options));
  if (!spec_.train.empty()) {
    SLUICE_TRY(trainer_,
               MixtureTrainer::make(spec_.train, spec_.options.batch_size, spec_.options.image_size,
                                    static_cast<int>(mixture_->sources().size()), spec_.device));
  }
  opened_ns_ = clock_.now_ns();
  for (const loader::mixture::SourceSpec& source : mixture_->sources())
    names_.push_back(source.name);
  log_ = std::make_unique<MixtureLog>(spec_.warmup, spec_.warmup + spec_.steps,
                                      most_blocks(spec_.options), names_.size());
  if (!spec_.batch_times.empty()) {
    SLUICE_TRY(lines_, results::BatchTimesWriter::open(batch_times_path(spec_, getpid())));
  }
  return ok;
}

Status MixtureLoop::start() {
  SLUICE_CHECK(open());
  for (std::uint64_t i = 0; i < spec_.warmup; ++i)
    SLUICE_CHECK(take());
  before_ = mixture_->stats();
  used_ns_ = 0;
  return ok;
}

Status MixtureLoop::measure() {
  cpu_before_ns_ = measure::usage_now().cpu_ns;
  measure_ns_ = clock_.now_ns();
  for (std::uint64_t i = 0; i < spec_.steps; ++i)
    SLUICE_CHECK(take());
  cpu_after_ns_ = measure::usage_now().cpu_ns;
  return ok;
}

Status MixtureLoop::use() {
  if (batch_ == nullptr || (spec_.sleep_s <= 0 && trainer_ == nullptr)) return ok;
  const std::int64_t start_ns = clock_.now_ns();
  if (spec_.sleep_s > 0)  // a device computes: the cores are the loader's
    std::this_thread::sleep_for(std::chrono::duration<double>(spec_.sleep_s));
  if (trainer_ != nullptr) SLUICE_CHECK(trainer_->step(*batch_));
  used_ns_ += clock_.now_ns() - start_ns;
  return ok;
}

Status MixtureLoop::take() {
  SLUICE_CHECK(use());
  const std::int64_t asked_ns = clock_.now_ns();
  SLUICE_TRY(const loader::mixture::MixtureBatch* batch, mixture_->next());
  if (batch == nullptr)
    return Error{Errc::invalid_input,
                 fmt::format("{}: its episodes end after {} batches; {} were asked for",
                             printable(spec_.root), log_->size(), spec_.warmup + spec_.steps)};
  batch_ = batch;
  const std::int64_t got_ns = clock_.now_ns();
  look_at(std::as_bytes(batch->images));
  last_ns_ = clock_.now_ns();
  if (first_ns_ == 0) first_ns_ = last_ns_;
  log_->add(got_ns - asked_ns, last_ns_ - got_ns, meter_.bytes(), batch->source);
  if (lines_ == nullptr) return ok;
  return lines_->add(log_->batch_time(log_->size() - 1, names_));
}

Result<MixtureRun> MixtureLoop::finish() {
  MixtureRun run;
  run.stats = mixture_->stats();
  mixture_.reset();
  run.teardown_s = seconds(clock_.now_ns() - last_ns_);
  run.batch_size = spec_.options.batch_size;
  run.warmup = spec_.warmup;
  run.batches = spec_.steps;
  run.open_s = seconds(opened_ns_ - start_ns_);
  run.start_s = seconds(first_ns_ - start_ns_);
  run.wall_s = seconds(last_ns_ - measure_ns_);
  run.cpu_s = seconds(cpu_after_ns_ - cpu_before_ns_);
  run.step_s = seconds(used_ns_) / static_cast<double>(spec_.steps);
  if (trainer_ != nullptr && trainer_->steps() > 0) {
    run.first_loss = trainer_->losses().front();
    run.loss = trainer_->losses().back();
  }
  for (std::size_t i = 0; i < run.stage_cpu_s.size(); ++i)
    run.stage_cpu_s[i] = run.stats.cpu_s[i] - before_.cpu_s[i];
  run.peak_rss_bytes = static_cast<std::int64_t>(log_->peak_rss_bytes());
  SLUICE_CHECK(add_times(run, log_->measured_s()));
  run.log = log_->batch_times(names_);
  if (lines_ != nullptr) run.batch_times = lines_->path().string();
  return run;
}

Result<MixtureRun> run_mixture(const MixtureSpec& spec) {
  SLUICE_CHECK(check(spec));
  SystemClock clock;
  MixtureLoop loop(spec, clock);
  SLUICE_CHECK(loop.start());
  SLUICE_CHECK(loop.measure());
  return loop.finish();
}

}  // namespace sluice::scenario
