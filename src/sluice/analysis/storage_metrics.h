// sluice/analysis/storage_metrics.h - rows of `bench storage` as rates, latencies and cache states.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/measure/record.h"
#include "sluice/stats/sample.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::analysis {

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
};

/// One per row, in order; rows of other commands are left out.
std::vector<StorageLine> storage_lines(const std::vector<measure::Row>& rows);
Json to_json(const StorageLine& line);

}  // namespace sluice::analysis
