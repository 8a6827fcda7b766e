// sluice/measure/record.h - what one measurement leaves behind: runs with raw samples, and the row
// they form.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::measure {

/// A value that may not have been measured; then `reason` says why. Never 0 for "not measured".
template <class T>
struct Measured {
  std::optional<T> value;
  std::string reason;  // empty when there is a value
};

/// Counted by the kernel over the timed samples of one run.
struct HardwareCounters {
  std::uint64_t cycles = 0;
  std::uint64_t instructions = 0;
  std::uint64_t cache_misses = 0;
  std::uint64_t branch_misses = 0;
};

/// One fresh process measuring one case.
struct Run {
  std::string run_id;  // "<session>/<case>/<library>/<n>"
  std::int64_t pid = 0;
  int block = 0;              // common to all rows of a session: rows with the same block are pairs
  int position = 0;           // place of the first sample in the random order of its block
  std::int64_t start_ns = 0;  // monotonic, of the first timed sample
  double idle_before_ms = 0;  // time the worker spent stopped before its first sample
  int warmup_discarded = 0;   // untimed passes before its samples
  std::vector<std::int64_t> samples_ns;
  std::int64_t cpu_ns = 0;  // user + system over all samples
  std::int64_t involuntary_switches = 0;
  std::int64_t major_faults = 0;
  bool throttled = false;  // the kernel reported cgroup or thermal throttling during the run
  Measured<HardwareCounters> counters;
  Json details;  // one object per sample that came with any; null: none did
};

enum class RowStatus { ok, early_stopped, unsupported, failed, skipped };
enum class Better { higher, lower };

struct Interval {
  double low = 0;
  double high = 0;
  std::string method;  // "t on log run means", "moving-block bootstrap"
  std::string over;    // "run", "block" or "iteration"
};

/// Threads asked for, threads found in force, and cpu time over wall time of the samples as proof.
struct ThreadPolicy {
  int asked = 1;
  int in_force = 1;
  double cpu_per_wall = 0;
  std::string name;  // "micro-single", ...; empty: just the number of threads
};

/// Of the device during the samples, as the library's own allocator counts it.
struct GpuMemory {
  std::int64_t peak_allocated_bytes = 0;
  std::int64_t peak_reserved_bytes = 0;
};

/// All numbers of `Summary` are in the unit of the row (a rate such as img/s, or seconds).
struct Summary {
  double median = 0, mean = 0, sd = 0, cv = 0;  // over runs
  double p10 = 0, p50 = 0, p90 = 0, p99 = 0;    // over all samples
  std::optional<Interval> ci95;                 // of the mean over runs; absent with one sample
  int n_runs = 0;
  int n_samples = 0;
  bool unstable = false;  // cv above Policy::unstable_cv
};

/// One line of every table: a case measured in one library.
struct Row {
  std::string case_name;  // "decode/jpeg/threads=1": scenario and its axis values
  std::map<std::string, std::string> params;  // the axis values, by name
  std::string library = "sluice";
  std::string library_version;
  ThreadPolicy thread_policy;
  RowStatus status = RowStatus::ok;
  std::string reason;  // why not ok; empty for ok
  std::string unit = "img/s";
  Better better = Better::higher;
  std::int64_t items_per_sample = 0;
  double bytes_per_item = 0;
  std::vector<Run> runs;
  std::optional<double> preflight_item_s;  // seconds per item that stopped the row early
  std::optional<Summary> summary;          // absent unless ok (or partial)
  std::optional<std::int64_t> peak_rss_bytes;
  std::optional<GpuMemory> gpu_memory;  // absent: no GPU was used
  std::string output_digest;
  /// How its output differs in meaning from that of the other libraries of its case; empty: the
  /// rows may be compared.
  std::string not_comparable;
};

const char* to_string(RowStatus status);
const char* to_string(Better better);

}  // namespace sluice::measure
