// sluice/results/conclusions.h - what commands conclude from rows and write beside them: the parts
// that several kinds of result files share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/measure/record.h"
#include "sluice/stats/sample.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::results {

class Keys;
struct Sections;

/// The reason of a figure whose key the file does not have.
inline constexpr const char* kMissingKey = "the key is missing";

enum class Mark { good, bad, unknown };
const char* to_string(Mark mark);

/// A target or an indicator: what was wanted, what is there.
struct Check {
  std::string name;
  std::string target;  // "> 1000 samples/s"
  std::string found;   // "1250 samples/s", or why it is not known
  Mark mark = Mark::unknown;
};

/// What it is, the numbers that say so, what to do.
struct Finding {
  std::string diagnosis;  // "decode is the limit"
  std::string evidence;
  std::vector<std::string> solutions;
};

/// What can be changed, as far as a command can do it by itself.
enum class AdviceKind {
  decode_scaled,
  smaller_images,
  more_workers,
  cache,
  buffered,
  bundle,
  pin_memory,
  upload_bytes
};
const char* to_string(AdviceKind kind);

/// A change that the measured shares say will help.
struct Advice {
  AdviceKind kind = AdviceKind::more_workers;
  std::string what;      // "use 4 workers instead of 1"
  std::string how;       // the flag, or the command that does it
  int number = 0;        // of workers, or of pixels at the shorter side; 0: none is meant
  stats::Estimate gain;  // time of a step now over then; low is what is promised
};

/// An advice that was taken, and measured beside what was there.
struct AdviceOutcome {
  std::string what;
  stats::Estimate promised;
  stats::Estimate gain;  // paired ratio
  int pairs = 0;
};

/// What the workers of a loader did, in one line; the shares of all add up to 1.
struct StageShare {
  std::string stage;
  double share = 0;  // of worker time
  double us_per_sample = 0;
  std::optional<double> ceiling;  // samples/s if nothing else were to be done
  std::optional<double> mb_per_s;
};

/// Several processes that train together.
struct RankTimes {
  int ranks = 1;
  double single_ms = 0;  // T_E of one rank alone
  double skew = 1;       // slowest rank's step over the median rank's
};

/// How batches go to the device.
struct Sending {
  bool pinned = true;            // from memory that it copies from directly
  std::string upload = "uint8";  // uint8, fp16, fp32
};

/// Per batch, in milliseconds. A confidence of 0 says that there is no interval.
struct StepTimes {
  stats::Estimate loader;                   // T_L: nobody else
  stats::Estimate model;                    // T_M: its batch is already there
  stats::Estimate together;                 // T_E
  stats::Estimate wait_share;               // w: of the time together, waiting for a batch
  std::optional<stats::Estimate> transfer;  // T_H: the copy to where the model reads it
  Sending sending;                          // not kept: the run's config says it
  std::string no_transfer;                  // why it was not measured; empty: nobody asked
  std::optional<double> loader_slowdown;    // under contention: its work per batch, over that alone
  std::optional<double> model_slowdown;
  std::optional<RankTimes> ranks;
};

enum class Bottleneck { input, compute, transfer, interference, sync, mixed };
const char* to_string(Bottleneck bottleneck);  // INPUT, COMPUTE, ...

struct Attribution {
  StepTimes times;
  double ideal_ms = 0;        // max(T_L, T_M)
  double serial_ms = 0;       // T_L + T_M
  double overlap = 0;         // 1: perfect, 0: none, below: in each other's way
  double residual_ms = 0;     // T_E - ideal: what neither explains
  double residual_share = 0;  // of T_E
  double headspace = 0;       // gain if the loader were free: 1 - T_M / T_E
  double busy_share = 0;      // AU: 1 - w
  Bottleneck verdict = Bottleneck::mixed;
  std::string statement;  // the verdict in words
  /// Verdicts of other values within the intervals; empty: the measurement settles it.
  std::vector<Bottleneck> could_also_be;
};

/// Our speed over a peer's, from rows interleaved in one session.
struct PeerRatio {
  std::string case_name;
  std::string library;
  std::string peer;
  stats::Estimate ratio;  // above 1: `library` is faster
  int pairs = 0;
};

/// How long a pass over all samples takes at the rate that was measured.
struct EpochEstimate {
  double sample_ratio = 1;  // of the data set that was used
  std::uint64_t samples = 0;
  stats::Estimate seconds;
  bool in_minutes = false;  // written in minutes too
  std::uint64_t batches = 0;
};

/// What limits loader and model together: of `diagnose`, and of the tour.
struct Diagnosis {
  std::optional<int> batch_size;
  std::string step;  // what the loader feeds: "an emulated accelerator ..."
  measure::Measured<Attribution> attribution;
  std::vector<Finding> findings;
  std::vector<Advice> advice;            // best first
  std::optional<AdviceOutcome> outcome;  // of the first one, where it was tried
  std::vector<StageShare> stages;        // of the loader alone
  bool is_the_verdict = false;           // of the whole file
  Json step_rows;                        // raw times that are no rows of the file; null: they are
};

/// What the tour says beside its rows.
struct TourSummary {
  std::string peers_reason;  // why nothing was measured beside us; empty: something was
  std::vector<std::string> found;
};

void keys_of(Keys& keys, stats::Estimate& estimate);  // point, low, high
void keys_of(Keys& keys, Check& check);
void keys_of(Keys& keys, Finding& finding);
void keys_of(Keys& keys, Advice& advice);
void keys_of(Keys& keys, AdviceOutcome& outcome);
void keys_of(Keys& keys, StageShare& stage);
void keys_of(Keys& keys, Attribution& attribution);
void keys_of(Keys& keys, PeerRatio& ratio);
void keys_of(Keys& keys, EpochEstimate& epoch);
void keys_of(Sections& file, Diagnosis& diagnosis);
void keys_of(Sections& file, TourSummary& tour);

Json to_json(const PeerRatio& ratio);

}  // namespace sluice::results
