// sluice/analysis/loader_use.h - what the samples of a loader row add up to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/results/conclusions.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

struct StageUse {
  std::string name;
  double busy_s = 0;  // of all workers
  double bytes = 0;
};

/// Requests to a store that is not on this machine, and the cache before it.
struct StoreUse {
  std::optional<double> hits, misses, evictions;  // absent: there is no cache
  std::optional<double> downloaded_bytes;         // absent: nothing comes over a network
  double requests = 0, retries = 0, hedges = 0;
};

/// Totals over all timed samples of a row, out of the `details` of its runs. Nothing here is a
/// rate: the metrics are (loader_metrics.h).
struct LoaderUse {
  double wall_s = 0;
  double cpu_s = 0;  // of the process, all threads
  std::int64_t batches = 0, samples = 0, waited_batches = 0, skipped = 0;
  int workers = 0;  // that load; with none the consumer's own thread counts
  double worker_busy_s = 0, worker_wait_s = 0, worker_other_s = 0;
  double consumer_wait_s = 0;
  double step_s = 0;  // what the consumer did itself
  std::vector<StageUse> stages;
  StoreUse store;
  std::vector<double> batch_cv;  // of each sample: sd over mean of the times of its batches
  double major_faults = 0, mapped_bytes = 0;
  double rss_bytes = 0, ring_bytes = 0;    // the largest
  std::int64_t ring_slots = 0;             // batches of ring_bytes
  std::optional<double> touched_bytes;     // memory touched for the first time; absent: not told
  std::vector<double> anonymous_by_epoch;  // of the run with the most epochs
  double first_batch_ms = 0, open_ms = 0;  // medians over runs
  std::optional<double> stop_ms;
  std::string page_cache;  // "cold", "warm", "mixed", "unknown"; empty: not a first epoch
  std::int64_t dataset_items = 0, epoch_items = 0;
};

/// Nothing when the row has no details: its library does not tell.
std::optional<LoaderUse> loader_use(const measure::Row& row);

/// Of a row that trains: what its loader did in the timed steps, or before them.
enum class FedPart { timed, before };
/// Nothing when no loader fed it.
std::optional<LoaderUse> fed_use(const measure::Row& row, FedPart part);

/// One line per stage, and what the workers did besides; the shares add up to 1.
std::vector<results::StageShare> stage_shares(const LoaderUse& use);

}  // namespace sluice::analysis
