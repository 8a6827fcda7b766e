// sluice/analysis/mixture/study.h - runs of a mixture at different settings, and what may be
// claimed of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/stats/sample.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

/// What a run of a study was set to. Runs that agree in all of it are repeats of each other.
struct MixtureKnobs {
  std::string metadata = "full";  // full, dataset_only, off
  int cpus = 1;
  int decode = 4;      // threads that decode ...
  int interleave = 4;  // ... and that read: "read 4/4"
  int mix_block = 4;   // samples per block ...
  int queue = 4;       // ... and blocks per queue: "mix 4/4"
  int samples_per_episode = 1;
  std::uint64_t warmup = 8;  // batches
  std::uint64_t steps = 160;

  auto operator<=>(const MixtureKnobs&) const = default;
};

/// The five things a study turns, each with its value as text: "read", "8/8".
enum class MixtureKnob : std::uint8_t { metadata, cpus, read, mix, samples_per_episode };
inline constexpr MixtureKnob kMixtureKnobs[] = {MixtureKnob::metadata, MixtureKnob::cpus,
                                                MixtureKnob::read, MixtureKnob::mix,
                                                MixtureKnob::samples_per_episode};
const char* to_string(MixtureKnob knob);
std::string value_of(const MixtureKnobs& knobs, MixtureKnob knob);
/// `knobs` with one of them as in `other`.
MixtureKnobs with(MixtureKnobs knobs, MixtureKnob knob, const MixtureKnobs& other);
/// In all five; lengths may differ.
bool same_knobs(const MixtureKnobs& a, const MixtureKnobs& b);
/// "metadata full, 2 CPUs, read 4/4, mix 4/4, 1 sample per episode".
std::string describe(const MixtureKnobs& knobs);

/// What the machine did while a run was taken: means over it.
struct MixtureRunUse {
  double cpu = 0;  // share of all cores
  double ram_bytes = 0;
  std::optional<double> gpu, gpu_ram_bytes;  // share of the time, bytes in use of the device
  std::string no_gpu{};                      // why they are not known
};

/// One run: one fresh process.
struct MixtureStudyRun {
  std::string id;                   // "r1.03": repeat and place in its order
  std::string date;                 // UTC, of its start
  std::string machine;              // profile; runs of different machines are never pooled
  std::string host{};               // which of those alike: a hash; empty: not known
  std::vector<std::string> labels;  // the groups of the study it belongs to
  MixtureKnobs knobs;
  std::uint64_t seed = 0;
  int repeat = 1;
  double batches_per_s = 0;
  double samples_per_s = 0;  // 0: failed
  double p50_s = 0, p90_s = 0, p99_s = 0;
  double start_s = 0, teardown_s = 0;
  double switch_rate = 0;
  std::int64_t dominants = 0;
  std::optional<double> others;  // share of the cores' time that other processes and guests took
  bool throttled = false;
  std::optional<MixtureRunUse> use;  // runs of earlier versions have none
  std::string failure;               // why it failed; empty: it did not
};

/// A setting of the study again, with a model behind it.
struct MixtureTrainedRun {
  MixtureStudyRun run{};  // its rates are those of the loader: a batch's time is the wait for it
  std::string model{};
  std::string device{};
  double trained_per_s = 0;  // samples, waits and steps counted
  double wait_fraction = 0;  // of the time; the rest is the model's
  double step_s = 0;         // mean, of the model
  double first_loss = 0, loss = 0;
};
Json to_json(const MixtureTrainedRun& run);
Result<MixtureTrainedRun> mixture_trained_run_from_json(const Json& json, std::string_view name);

inline constexpr std::uint64_t kShortWarmup = 8, kShortSteps = 160, kLongSteps = 1200;
inline constexpr double kOverlap = 0.05;  // others above this share overlap a run

bool is_short(const MixtureKnobs& knobs);
/// The machine that a run belongs to, for tables and pools: "profile host 1f0a…".
std::string machine_of(const MixtureStudyRun& run);
std::string machine_name(const std::string& profile, const std::string& host);
/// Something else ran at the same time, or the machine held it back.
bool is_disturbed(const MixtureStudyRun& run);
/// What a reader must know of a run: failed, short, overlapped, throttled. Empty: nothing.
std::string note_of(const MixtureStudyRun& run);

Json to_json(const MixtureStudyRun& run);
Result<MixtureStudyRun> mixture_study_run_from_json(const Json& json, std::string_view name);

struct StudyRule {
  double margin = 0.03;      // relative; smaller differences do not matter
  double confidence = 0.95;  // of all comparisons of one question together (Bonferroni)
  double power = 0.8;        // with which the runs still needed would show the difference
};

/// All repeats of one setting on one machine.
struct StudySetting {
  MixtureKnobs knobs;
  std::vector<std::string> labels{};
  int runs = 0;            // that count
  stats::Estimate rate{};  // samples/s: geometric mean; low = high = point without an interval
  bool has_interval = false;
};

enum class StudyOutcome : std::uint8_t {
  faster,
  slower,
  same,       // within the margin, says the interval
  undecided,  // the interval allows several of these
};
const char* to_string(StudyOutcome outcome);

/// Two settings that differ in one knob.
struct StudyContrast {
  MixtureKnob knob = MixtureKnob::metadata;
  std::size_t setting = 0;    // of StudyVerdict::settings
  std::size_t reference = 0;  // the same with the base's value of the knob
  stats::Estimate ratio{};    // rate of setting / rate of reference, simultaneous within its knob
  bool has_interval = false;
  StudyOutcome outcome = StudyOutcome::undecided;
  std::int64_t more_runs = 0;  // of each, so that it would be decided; 0: it is
};

/// The best of several settings and those that cannot be told from it.
struct StudyChoice {
  std::vector<std::size_t> settings;  // best first; empty: none was measured
  std::size_t considered = 0;
  bool decided = false;        // the best is told from all others
  std::int64_t more_runs = 0;  // of each, so that the best is told from all of them
};

/// What one machine's runs support.
struct StudyVerdict {
  std::string machine;                   // of machine_of()
  MixtureKnobs base;                     // CPUs clipped to those of this machine's runs
  std::vector<StudySetting> settings;    // fastest first
  std::vector<StudyContrast> contrasts;  // by knob, then by setting
  StudyChoice full_metadata;             // at the base's samples per episode
  StudyChoice throughput;                // of all
  std::optional<std::size_t> sustained;  // the long run with full metadata, if there is one
  std::optional<double> spread;          // relative sd of a run
  double degrees = 0;                    // that this spread is known with
  std::size_t runs = 0, failed = 0, disturbed = 0, short_runs = 0;
  bool disturbed_left_out = false;  // enough others remain, so the disturbed do not count
};

/// One verdict per machine, in order of appearance. Settings are compared on the logarithm of their
/// rates, with effects of repeats taken out and one spread for all settings; only settings with the
/// same number of batches are compared. `base` is what a contrast turns one knob away from; where
/// a machine has fewer CPUs than it asks for, it is the machine's most.
std::vector<StudyVerdict> judge_study(const std::vector<MixtureStudyRun>& runs,
                                      const MixtureKnobs& base, const StudyRule& rule = {});

}  // namespace sluice::analysis
