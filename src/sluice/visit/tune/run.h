// sluice/visit/tune/run.h - one visit of `sluice tune`: settings measured in worker processes until
// the search has its answer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/loader/run.h"

#include <cstdint>

namespace sluice::visit {

struct TunePlan {
  DataloaderPlan rows;             // workers and prefetch of its loader are where the search starts
  std::string library = "sluice";  // whose loader; another's reads a local folder of images
  int present_workers = 0;         // another library: what the gain is over
  int max_workers = 1;
  int max_prefetch = 8;
  double budget_s = 120;
  double worth = 0.02;             // a smaller gain is not worth a dearer setting
  unsigned cores = 1;              // what --max-cpu is a share of
  double max_cpu = 0;              // share of the cores; 0: no cap
  std::int64_t max_rss_bytes = 0;  // of the process; 0: no limit
};

/// Errors before the first sample: bad input. A setting that fails, or breaks a limit, costs that
/// setting. The summary of the file holds "tune": settings, evidence, recommendation.
Result<Visited> run_tune(const Caller& caller, const TunePlan& plan);

}  // namespace sluice::visit
