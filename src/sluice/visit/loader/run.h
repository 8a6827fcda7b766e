// sluice/visit/loader/run.h - one visit of `sluice bench dataloader`: what is measured, in which
// order, and what it leaves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/loader_verdict.h"
#include "sluice/scenario/loader/spec.h"
#include "sluice/visit/loader/request.h"
#include "sluice/visit/visit.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

struct Sweep {
  std::vector<int> workers, prefetch;  // empty: not swept
  [[nodiscard]] bool empty() const { return workers.empty() && prefetch.empty(); }
};

struct DataloaderPlan {
  LoaderRequest loader;
  std::vector<std::string> libraries{"sluice"};
  Sweep sweep;
  double step_ms = 0;           // 0: no consumer is emulated
  std::filesystem::path trace;  // empty: none
  bool skip_errors = false;
  double sample_s = 1;      // of a timed sample, when --num-batches is not given
  bool all_set_ups = true;  // of other libraries: more than their usual prefetch is tried
  analysis::LoaderTargets targets;
  measure::Policy policy;
};

/// What the input holds, found out before anything is written.
struct InputFacts {
  std::uint64_t items = 0;        // all there are
  std::uint64_t epoch_items = 0;  // with --sample-ratio
  std::uint64_t bytes = 0;
  bool arrays = false;
  bool clips = false;
  bool three_augment = false;  // asked for
  std::string hash;            // over names and sizes
};
/// Store and data set of the request. Without `cache_dir`, whatever the request says: looking must
/// not fill a cache.
Result<scenario::LoaderInput> open_input(const LoaderRequest& request,
                                         const std::string& cache_dir = "");
/// Samples of an epoch with --sample-ratio.
std::uint64_t items_of_epoch(std::uint64_t items, double ratio);
Result<InputFacts> inspect_input(const LoaderRequest& request);
/// Whose file system a run depends on: the input's, or this folder's for a store.
std::filesystem::path storage_of(const LoaderRequest& request);
/// What samples are read from: "s3", "gcs", "network", "shared" (of the host, into a guest),
/// "memory", or for a disk of this machine "page-cache"; reads that go past the page cache
/// (--read-mode direct) are "disk-cold" or "network-cold".
std::string storage_kind(const LoaderRequest& request);
/// Of several inputs, each by a name of its own: "page-cache", "page-cache-2".
std::vector<std::string> storage_names(const std::vector<LoaderRequest>& inputs);
/// What a result file says of its input, and of what is timed of the loader.
results::Dataset dataset_of(const InputFacts& input);
results::Timing loader_timing(const LoaderRequest& request, const InputFacts& input);

/// Fields of `prepare` for our rows.
Json loader_spec_json(const DataloaderPlan& plan, const InputFacts& input, std::uint64_t seed);
/// "loader/rrc224-antialias", "loader/raw" for arrays, "loader/clip16-antialias" for videos.
std::string base_case(const InputFacts& input);

/// Errors before the first sample: bad input, libraries that do not exist. A library that fails
/// costs its rows only.
Result<Visited> run_dataloader(const Caller& caller, const DataloaderPlan& plan);

}  // namespace sluice::visit
