// sluice/analysis/step_rows.cpp - rates and details of rows to times per batch.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/step_rows.h"

#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sluice::analysis {
namespace {

constexpr const char* kTransfer = "diagnose/transfer";

const measure::Row* find_row(const std::vector<measure::Row>& rows, const char* case_name) {
  for (const measure::Row& row : rows)
    if (row.case_name == case_name && row.library == "sluice") return &row;
  return nullptr;
}

Result<const measure::Row*> measured_row(const std::vector<measure::Row>& rows,
                                         const char* case_name) {
  const measure::Row* row = find_row(rows, case_name);
  if (row == nullptr)
    return Error{Errc::measurement, fmt::format("{}: was not measured", case_name)};
  if (!row->summary || row->summary->mean <= 0)
    return Error{
        Errc::measurement,
        fmt::format("{}: {}", case_name, row->reason.empty() ? "gave no time" : row->reason)};
  return row;
}

stats::Estimate per_batch(const measure::Row& row, int batch) {
  const auto ms = [&](double rate) { return batch * 1e3 / rate; };
  const auto& ci = row.summary->ci95;
  if (!ci || ci->low <= 0) return exactly(ms(row.summary->mean));
  return {ms(row.summary->mean), ms(ci->high), ms(ci->low), 0.95};
}

double detail_of(const Json& details, const char* key) {
  if (!details.is_object()) return 0;
  const auto found = details.find(key);
  return found != details.end() && found->is_number() ? found->get<double>() : 0;
}

double detail_sum(const measure::Run& run, const char* key) {
  double sum = 0;
  if (run.details.is_array())
    for (const Json& details : run.details)
      sum += detail_of(details, key);
  return sum;
}

double detail_sum(const measure::Row& row, const char* key) {
  return std::accumulate(
      row.runs.begin(), row.runs.end(), 0.0,
      [&](double sum, const measure::Run& run) { return sum + detail_sum(run, key); });
}

double wall_ns(const measure::Run& run) {
  return std::accumulate(run.samples_ns.begin(), run.samples_ns.end(), 0.0);
}

/// Over runs, as every interval here.
stats::Estimate wait_share(const measure::Row& together) {
  std::vector<double> shares;
  for (const measure::Run& run : together.runs)
    if (wall_ns(run) > 0)
      shares.push_back(std::clamp(detail_sum(run, "wait_ns") / wall_ns(run), 0.0, 1.0));
  if (shares.empty()) return exactly(0);
  const double mean =
      std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
  if (shares.size() < 2) return exactly(mean);
  const auto interval = stats::mean_interval(shares);
  if (!interval) return exactly(mean);
  return {mean, std::clamp(interval->low, 0.0, 1.0), std::clamp(interval->high, 0.0, 1.0), 0.95};
}

std::optional<double> ratio(double over, double under) {
  if (over <= 0 || under <= 0) return std::nullopt;
  return over / under;
}

/// Work of its threads for a batch.
double busy_ns_per_batch(const measure::Row& row) {
  const double batches = detail_sum(row, "batches");
  return batches > 0 ? detail_sum(row, "worker_busy_ns") / batches : 0;
}

}  // namespace

Result<StepTimes> step_times(const std::vector<measure::Row>& rows, int batch) {
  SLUICE_TRY(const measure::Row* loader, measured_row(rows, "diagnose/loader"));
  SLUICE_TRY(const measure::Row* model, measured_row(rows, "diagnose/model"));
  SLUICE_TRY(const measure::Row* together, measured_row(rows, "diagnose/together"));
  StepTimes times;
  times.loader = per_batch(*loader, batch);
  times.model = per_batch(*model, batch);
  times.together = per_batch(*together, batch);
  times.wait_share = wait_share(*together);
  if (find_row(rows, kTransfer) != nullptr) {
    SLUICE_TRY(const measure::Row* transfer, measured_row(rows, kTransfer));
    times.transfer = per_batch(*transfer, batch);
  }
  times.loader_slowdown = ratio(busy_ns_per_batch(*together), busy_ns_per_batch(*loader));
  const double steps = detail_sum(*together, "batches");
  if (steps > 0)
    times.model_slowdown =
        ratio(detail_sum(*together, "model_ns") / steps / 1e6, times.model.point);
  return times;
}

Result<results::Diagnosis> diagnosis_of(const std::vector<measure::Row>& rows, int batch,
                                        const LoaderSetting& setting, const ProbedData& probed) {
  SLUICE_TRY(StepTimes times, step_times(rows, batch));
  times.sending = setting.sending;
  results::Diagnosis found;
  found.batch_size = batch;
  Attribution& attribution = found.attribution.value.emplace(attribute(times));
  if (!times.transfer)
    attribution.times.no_transfer = "an emulated accelerator reads batches where they lie";
  LoaderFacts facts;
  SLUICE_TRY(const measure::Row* loader, measured_row(rows, "diagnose/loader"));
  facts.rate = loader->summary->mean;
  facts.steady = loader_use(*loader);
  facts.no_gpu = "not watched";
  facts.cores = setting.cores;
  if (facts.steady) {
    AdviceFacts advised = advice_facts(*facts.steady, setting, attribution, probed);
    SLUICE_TRY(const measure::Row* together, measured_row(rows, "diagnose/together"));
    if (const auto both = loader_use(*together); both && both->batches > 0)
      advised.together_cpu_ms = both->cpu_s * 1e3 / static_cast<double>(both->batches);
    found.advice = advise(advised);
  }
  found.findings = loader_findings(facts, setting, attribution, found.advice);
  // Where the loader is not the limit, what limits it is nobody's concern.
  if (attribution.verdict == Bottleneck::compute) found.findings.resize(1);
  if (facts.steady) found.stages = stage_shares(*facts.steady);
  return found;
}

}  // namespace sluice::analysis
