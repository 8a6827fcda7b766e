// sluice/results/summaries.h - what the storage benchmark, the tuner and the transform matrix
// conclude from their rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/results/conclusions.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::results {

/// Microseconds; over the reads of a sample, then over samples and runs. The interval is that of
/// the runs; without two of them it is the point.
struct ReadLatency {
  stats::Estimate p50, p90, p99;  // geometric mean over runs
  double max = 0;                 // over all reads
};

struct StorageLine {
  std::string pattern;  // sequential, random, get
  std::string mode;     // buffered, mmap, direct, remote
  int concurrency = 1;
  std::uint64_t size = 0;  // bytes of a read or, get, of the largest object; sequential: 0
  measure::RowStatus status = measure::RowStatus::ok;
  std::string reason;
  // Of rows that were measured:
  std::string cache;  // as it was found: cold, warm, mixed, unknown, bypassed, remote
  std::optional<double> resident_share;     // of pages, right before the samples; the largest
  std::optional<stats::Estimate> rate;      // reads or objects per second; sequential: MB/s
  std::optional<stats::Estimate> mb_per_s;  // 10^6 bytes
  std::optional<ReadLatency> latency_us;
  std::optional<std::uint64_t> reads;              // of a sample; the fewest
  std::optional<std::uint64_t> smallest, largest;  // bytes of what one of them reads
  std::optional<double> memory_share;  // of reads that no device answers as fast; the largest
};

/// Of `bench storage`: one line per row, in order.
struct StorageMetrics {
  std::vector<StorageLine> lines;
};

/// All-reduce of one size. Bandwidths are those of nccl-tests, in 10^9 bytes a second: of the
/// algorithm, bytes over time; of the bus, 2 (n - 1) / n times that, which a perfect ring reaches
/// whatever the number of ranks.
struct AllreduceLine {
  std::int64_t bytes = 0;
  std::int64_t sums = 0;  // timed together
  stats::Estimate time_us;
  stats::Estimate algorithm_gb_per_s, bus_gb_per_s;
};

/// Of `bench allreduce`.
struct AllreduceSummary {
  std::int64_t world_size = 0;
  std::int64_t machines = 1;
  std::string library;               // that adds up
  std::vector<AllreduceLine> lines;  // by size
};

struct TuneSetting {
  std::int64_t workers = 0;
  std::int64_t prefetch = 0;
  // Of a GPU:
  std::optional<std::string> loader{};         // who decodes: cpu, gpu or hybrid
  std::optional<std::int64_t> pinned_slots{};  // batches of pinned memory
  friend bool operator==(const TuneSetting&, const TuneSetting&) = default;
};

struct TuneRate {
  TuneSetting setting;
  std::uint64_t n = 0;         // blocks
  std::optional<double> rate;  // samples/s, geometric mean
};

/// A place in the one ranking, fastest first.
struct TunePlace {
  TuneSetting setting;
  int n = 0;                             // measurements
  double rate = 0;                       // samples/s, with what is common to blocks taken out
  std::optional<stats::Estimate> ratio;  // to the first; absent: it is that, or noise is not known
};

/// A setting beside the one that was best until then.
struct TuneEvidence {
  TuneSetting setting, against;
  std::uint64_t pairs = 0;
  std::string outcome;                   // a measure::TuneOutcome
  std::optional<stats::Estimate> ratio;  // absent: fewer than two pairs
  std::string reason;                    // of a failure
};

/// The universal scalability law, fitted to rates over workers.
struct TuneScaling {
  std::int64_t prefetch = 0;
  std::optional<std::string> loader{};  // of a GPU: who decodes
  std::vector<double> workers, rates;
  double lambda = 0, sigma = 0, kappa = 0;
  double error = 0;                    // relative
  std::optional<double> peak_workers;  // absent: there is no peak
};

/// Of `tune`. Files of earlier versions have no ranking, and an expected loss instead of a loss.
struct TuneSummary {
  std::string library = "sluice";  // whose loader
  TuneSetting start, best, recommended;
  std::optional<TuneSetting> reference;  // what the gain is over
  std::string flags;                     // of `bench dataloader`, for what is recommended
  std::string paste;   // the line of Python that says the same; empty: of no library but torch's
  std::string choice;  // first or cheapest: why it is recommended
  double worth = 0, confidence = 0;
  bool settled = false;
  bool complete = true;                 // the search was not cut short
  std::optional<stats::Estimate> loss;  // share of the rate, to the fastest
  std::optional<stats::Estimate> gain;  // ratio to the reference
  std::optional<double> noise;          // of one measurement, as a share
  int open = 0;                         // settings that may be faster by more than is worth it
  std::optional<double> more_s;         // that would decide about them
  std::optional<double> expected_loss;
  int blocks = 0;
  double elapsed_s = 0, budget_s = 0;
  std::vector<TunePlace> ranking;
  std::vector<TuneRate> rates;
  std::vector<TuneEvidence> evidence;
  std::optional<TuneScaling> scaling;
};

/// What is said once per file of the matrix.
struct MatrixRemarks {
  std::optional<std::string> device;  // "none" where a library stays on the host
  std::vector<std::pair<std::string, double>> published;  // img/s by transform
  std::vector<std::string> labels;
  std::vector<std::string> skipped_files;  // "name: reason", unreadable
  std::optional<std::uint64_t> grey_files;
};

/// A win: the 95 % interval of the ratio lies above 1. A tie: it contains 1, or the ratio is at
/// least 0.97. Alone: nobody else has an ok row. Differs: who has one computes something else.
enum class Standing { win, tie, loss, alone, differs };
const char* to_string(Standing standing);

/// A row beside the fastest of the other libraries that compute the same; of all others where none
/// does.
struct Versus {
  std::string case_name;
  double rate = 0;   // of the library
  std::string peer;  // the fastest of the others; empty when alone
  double peer_rate = 0;
  std::optional<stats::Estimate> ratio;      // above 1: the library is faster
  std::optional<stats::Estimate> of_memcpy;  // share of the rate of the yardstick row
  double bytes_per_item = 0;
  Standing standing = Standing::alone;
  bool comparable = true;  // false: the peer is known to compute something else
};

/// Of `bench transforms`: all rows, and what they come to.
struct VersusSummary {
  int rows = 0;  // ok rows of the library
  int wins = 0, ties = 0, losses = 0, alone = 0, different = 0;
  /// Of the ratios to libraries that compute the same; the interval is that between rows.
  std::optional<stats::Estimate> geomean;
  std::string slowest_case;  // of the smallest ratio
  double slowest_ratio = 0;
  std::vector<std::string> failed;  // cases of the library that are not ok
  std::vector<Versus> versus;
};

void keys_of(Sections& file, StorageMetrics& storage);
void keys_of(Sections& file, AllreduceSummary& allreduce);
void keys_of(Sections& file, TuneSummary& tune);
void keys_of(Sections& file, MatrixRemarks& remarks);
void keys_of(Sections& file, VersusSummary& summary);

}  // namespace sluice::results
