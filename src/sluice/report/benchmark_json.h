// sluice/report/benchmark_json.h - rows in the JSON that other benchmark tools and services read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <string>
#include <vector>

namespace sluice::report {

// Rows without a summary (failed, unsupported, ...) are left out: none of these formats can say
// why. A row is called "<case> in <library>".

/// As `--benchmark_out` of Google Benchmark 1.8: a repetition per run and the four aggregates;
/// times are of one sample. Read by its compare.py.
std::string google_benchmark_json(const std::vector<results::ResultFile>& files);

/// Bencher Metric Format: `throughput` in items/s with its 95 % interval, `latency` in ns per item.
std::string bencher_json(const std::vector<results::ResultFile>& files);

/// For benchmark-action/github-action-benchmark with tool `customSmallerIsBetter`: ns per item.
std::string github_action_benchmark_json(const std::vector<results::ResultFile>& files);

}  // namespace sluice::report
