// sluice/analysis/peer_step.cpp - times of a step, and paired ratios of settings.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/peer_step.h"

#include "sluice/analysis/advice.h"
#include "sluice/analysis/peer_ratio.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::analysis {
namespace {

Result<stats::Estimate> batch_ms_of(const measure::Row& row, int batch) {
  if (!row.summary || row.summary->mean <= 0)
    return Error{Errc::measurement, fmt::format("{}: {}", row.case_name,
                                                row.reason.empty() ? "gave no time" : row.reason)};
  const auto ms = [&](double rate) { return batch * 1e3 / rate; };
  const auto& ci = row.summary->ci95;
  if (!ci || ci->low <= 0) return exactly(ms(row.summary->mean));
  return stats::Estimate{ms(row.summary->mean), ms(ci->high), ms(ci->low), 0.95};
}

/// Whatever is not the step is waiting for it to begin.
stats::Estimate waiting_of(const stats::Estimate& together, double step_ms) {
  const auto share = [&](double ms) { return ms > 0 ? std::clamp(1 - step_ms / ms, 0.0, 1.0) : 0; };
  return {share(together.point), share(together.low), share(together.high), together.confidence};
}

std::vector<Advice> faster_settings(const std::vector<LoaderTry>& tried) {
  std::vector<Advice> list;
  const LoaderTry& now = tried.front();
  for (std::size_t i = 1; i < tried.size(); ++i) {
    const auto gain = row_ratio(tried[i].together, now.together, true);
    if (!gain || !(gain->low >= kLeastGain)) continue;
    list.push_back({AdviceKind::more_workers,
                    fmt::format("use {} worker{} instead of {}", tried[i].workers,
                                tried[i].workers == 1 ? "" : "s", now.workers),
                    tried[i].paste, tried[i].workers, *gain});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Advice& a, const Advice& b) { return a.gain.low > b.gain.low; });
  return list;
}

}  // namespace

Result<results::Diagnosis> peer_diagnosis(const measure::Row& alone,
                                          const std::vector<LoaderTry>& tried, double step_ms,
                                          int batch) {
  StepTimes times;
  SLUICE_TRY(times.loader, batch_ms_of(alone, batch));
  SLUICE_TRY(times.together, batch_ms_of(tried.front().together, batch));
  times.model = exactly(step_ms);
  times.wait_share = waiting_of(times.together, step_ms);
  times.no_transfer = "an emulated accelerator reads batches where they lie";
  results::Diagnosis found;
  found.batch_size = batch;
  const Attribution& attribution = found.attribution.value.emplace(attribute(times));
  found.findings = {finding_of(attribution)};
  if (attribution.verdict == Bottleneck::compute) return found;
  found.advice = faster_settings(tried);
  std::vector<std::string>& solutions = found.findings.front().solutions;
  solutions.clear();
  for (const Advice& one : found.advice)
    solutions.push_back(advice_line(one));
  if (solutions.empty())
    solutions.push_back(fmt::format("no other number of workers was shown to be faster: keep `{}`",
                                    tried.front().paste));
  return found;
}

}  // namespace sluice::analysis
