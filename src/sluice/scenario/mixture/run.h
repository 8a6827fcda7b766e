// sluice/scenario/mixture/run.h - one run of a mixture: opened, warmed up, measured batch by batch,
// closed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/results/batch_times.h"
#include "sluice/scenario/mixture/log.h"
#include "sluice/scenario/mixture/spec.h"
#include "sluice/scenario/mixture/train.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::scenario {

/// What a run leaves. Times of batches are those of its measured ones; sleeps are in none of them.
struct MixtureRun {
  int batch_size = 0;
  std::uint64_t warmup = 0;   // batches
  std::uint64_t batches = 0;  // measured
  double open_s = 0;          // until every data set was open
  double start_s = 0;         // until the first batch was there, opening included
  double measured_s = 0;      // sum of the batches' times
  double wall_s = 0;          // from before the first measured batch to the last, sleeps included
  double teardown_s = 0;      // from the last batch until every thread had ended
  double mean_s = 0, p50_s = 0, p90_s = 0, p99_s = 0, max_s = 0;
  double cpu_s = 0;                // of the process, during the measured batches
  double step_s = 0;               // mean of what was done with a batch: the sleep, the update
  float first_loss = 0, loss = 0;  // of the trained model: after the first batch and the last
  std::array<double, loader::mixture::kStages> stage_cpu_s{};  // likewise
  loader::mixture::MixtureStats stats{};                       // of all batches, the warm-up's too
  std::int64_t peak_rss_bytes = 0;                             // highest seen after a batch
  std::string batch_times{};              // the file that was written; empty: none
  std::vector<results::BatchTime> log{};  // not in JSON

  [[nodiscard]] double batches_per_s() const;
  [[nodiscard]] double samples_per_s() const;  // of whole batches
  /// Share of the time in which whoever uses the batches waited for one.
  [[nodiscard]] double wait_fraction() const { return wall_s > 0 ? measured_s / wall_s : 0; }
};

Json to_json(const MixtureRun& run);
/// From the details of a run, whoever measured it: what a library does not count is 0 or empty. A
/// wrong type is an error that names the field.
Result<MixtureRun> mixture_run_from_json(const Json& json);

/// A run in three parts, so that the middle one alone can be timed by whoever asks.
class MixtureLoop {
 public:
  MixtureLoop(MixtureSpec spec, Clock& clock);
  MixtureLoop(MixtureSpec spec, const loader::episodes::Preset& preset, Clock& clock);
  ~MixtureLoop();
  MixtureLoop(const MixtureLoop&) = delete;
  MixtureLoop& operator=(const MixtureLoop&) = delete;

  /// Opens everything and takes the warm-up's batches.
  Status start();
  /// Takes `steps` batches. Data that ends before that (one_pass) is an error.
  Status measure();
  /// Ends the threads and sums up. Once, after measure(). The lines of the batches are in their
  /// file already.
  Result<MixtureRun> finish();

 private:
  Status open();
  Status take();
  /// What a model does with the batch that was taken last.
  Status use();

  MixtureSpec spec_;
  const loader::episodes::Preset* preset_ = nullptr;  // null: the one that the spec names
  Clock& clock_;
  std::vector<std::string> names_;
  ResidentMeter meter_;
  std::unique_ptr<MixtureLog> log_;
  std::unique_ptr<results::BatchTimesWriter> lines_;  // null: no file is asked for
  std::unique_ptr<loader::mixture::Mixture> mixture_;
  std::unique_ptr<MixtureTrainer> trainer_;  // null: nothing is trained
  const loader::mixture::MixtureBatch* batch_ = nullptr;
  std::int64_t used_ns_ = 0;                // since the warm-up
  loader::mixture::MixtureStats before_{};  // when the warm-up was over
  std::int64_t cpu_before_ns_ = 0, cpu_after_ns_ = 0;
  std::int64_t start_ns_ = 0, opened_ns_ = 0, first_ns_ = 0, measure_ns_ = 0, last_ns_ = 0;
};

/// All three in this process.
Result<MixtureRun> run_mixture(const MixtureSpec& spec);

}  // namespace sluice::scenario
