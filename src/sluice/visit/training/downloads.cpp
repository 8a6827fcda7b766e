// sluice/visit/training/downloads.cpp - two short first epochs of the loader.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/downloads.h"

#include "sluice/analysis/loader_use.h"
#include "sluice/visit/loader/rows.h"
#include "sluice/visit/once.h"

#include <algorithm>

namespace sluice::visit {
namespace {

constexpr std::uint64_t kProbeSamples = 512;  // at most, unless a batch is larger

/// Downloaded megabytes over wall time.
Result<measure::Measured<double>> downloaded(const RowMaker& maker, int workers,
                                             const measure::RunnerContext& runner,
                                             double timeout_s) {
  const std::uint64_t batch = static_cast<std::uint64_t>(maker.plan.loader.batch_size);
  const std::uint64_t items = std::min(maker.input.epoch_items, std::max(batch, kProbeSamples));
  const Json over{
      {"first_epoch", true}, {"pass_batches", std::max<std::uint64_t>(1, items / batch)},
      {"workers", workers},  {"cache_dir", ""},
      {"device", "cpu"},     {"loader", "cpu"},
      {"pin_memory", false}};
  SLUICE_TRY(const measure::Row row, measure_once(maker.ours(base_case(maker.input), over, {}), 1,
                                                  runner, timeout_s, maker.seed));
  if (row.status != measure::RowStatus::ok)
    return measure::Measured<double>{std::nullopt, row.reason};
  analysis::LoaderFacts facts;
  facts.first = analysis::loader_use(row);
  return analysis::download_mb_per_s(facts);
}

}  // namespace

Result<analysis::DownloadProbe> probe_downloads(const LoaderRequest& request,
                                                const InputFacts& input,
                                                const std::vector<std::string>& worker,
                                                const measure::RunnerContext& runner,
                                                const measure::Policy& policy) {
  const std::string none = request.sequence > 0 ? "tokens are read at once, not by samples" : "";
  analysis::DownloadProbe probe{{std::nullopt, none}, {std::nullopt, none}};
  if (request.sequence > 0) return probe;
  const auto bar = runner.progress->bar("downloads", 0);
  DataloaderPlan plan;
  plan.loader = request;
  const RowMaker maker{plan, input, worker, measure::subject_seed(policy)};
  const int workers = std::max(request.workers, 1);
  SLUICE_TRY(probe.all, downloaded(maker, workers, runner, policy.step_timeout_s));
  probe.one = probe.all;
  if (workers > 1) {
    SLUICE_TRY(probe.one, downloaded(maker, 1, runner, policy.step_timeout_s));
  }
  return probe;
}

}  // namespace sluice::visit
