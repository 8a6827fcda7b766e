// sluice/visit/loader/result.cpp - rows in, conclusions out; nothing is measured here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/result.h"

#include "sluice/analysis/loader_verdict.h"
#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/sweep/worker_guide.h"
#include "sluice/core/free_memory.h"
#include "sluice/core/thread_pool.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/visit/loader/bundles.h"
#include "sluice/visit/loader/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>

namespace sluice::visit {
namespace {

using measure::Row;

constexpr double kGoodEnough = 0.98;  // of the best: then the cheapest configuration is chosen

analysis::LoaderFacts facts_of(const results::ResultFile& file, const InputFacts& input,
                               const WatchedGpu& gpu) {
  analysis::LoaderFacts facts;
  const std::string base = base_case(input);
  if (const Row* row = find_row(file, base)) {
    facts.rate = mean_of(row);
    facts.steady = analysis::loader_use(*row);
    facts.peak_rss_bytes = static_cast<double>(row->peak_rss_bytes.value_or(0));
  }
  if (const Row* row = find_row(file, base + "/epoch=first"))
    facts.first = analysis::loader_use(*row);
  facts.gpu = gpu.use;
  facts.no_gpu = gpu.reason;
  facts.cores = usable_cores();
  facts.memory_total_bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  for (const Row& row : file.rows) {
    if (row.library != "sluice" || !row.params.count("workers")) continue;
    if (row.params.at("workers") != "1") continue;
    const auto use = analysis::loader_use(row);
    if (use && use->store.downloaded_bytes.value_or(0) > 0 && use->wall_s > 0)
      facts.one_worker_download_mb_s = *use->store.downloaded_bytes / 1e6 / use->wall_s;
  }
  return facts;
}

analysis::LoaderSetting setting_of(const DataloaderPlan& plan, const InputFacts& input) {
  analysis::LoaderSetting setting;
  setting.workers = plan.loader.workers;
  setting.cores = usable_cores();
  setting.remote = plan.loader.remote;
  setting.cached = !plan.loader.cache_dir.empty();
  setting.bundled = plan.loader.bundling;
  setting.persistent = plan.loader.persistent_workers;
  setting.prefetch = plan.loader.prefetch;
  setting.items = input.epoch_items;
  setting.batch = plan.loader.batch_size;
  setting.direct = plan.loader.read_mode == "direct";
  setting.scaled = plan.loader.decode_scaled;
  setting.hands_floats = plan.loader.gpu_index >= 0 && plan.loader.upload != train::PixelType::u8;
  setting.sending = {plan.loader.pin_memory, scenario::to_string(plan.loader.upload)};
  setting.mean_sample_bytes = static_cast<double>(input.bytes) / static_cast<double>(input.items);
  return setting;
}

std::optional<analysis::Attribution> step_of(const results::ResultFile& file,
                                             const DataloaderPlan& plan, const InputFacts& input,
                                             const analysis::LoaderFacts& facts) {
  if (plan.step_ms <= 0 || !facts.steady) return std::nullopt;
  const Row* row = find_row(file, fmt::format("{}/step_ms={:g}", base_case(input), plan.step_ms));
  const auto use = row != nullptr ? analysis::loader_use(*row) : std::nullopt;
  if (!use || use->batches == 0 || facts.steady->batches == 0) return std::nullopt;
  const auto per_batch = [](const analysis::LoaderUse& one) {
    return analysis::exactly(one.wall_s * 1e3 / static_cast<double>(one.batches));
  };
  analysis::StepTimes times;
  times.loader = per_batch(*facts.steady);
  times.model = analysis::exactly(plan.step_ms);
  times.together = per_batch(*use);
  times.wait_share = analysis::exactly(use->consumer_wait_s / use->wall_s);
  return analysis::attribute(times);
}

struct SweptRow {
  const Row* row = nullptr;
  int workers = 0, prefetch = 0;
};

std::vector<SweptRow> swept_rows(const results::ResultFile& file) {
  std::vector<SweptRow> list;
  for (const Row& row : file.rows) {
    if (row.library != "sluice" || row.case_name.find("/prefetch=") == std::string::npos) continue;
    list.push_back(
        {&row, std::stoi(row.params.at("workers")), std::stoi(row.params.at("prefetch"))});
  }
  return list;
}

/// The cheapest within 2 % of the fastest: fewer workers, then fewer batches ahead.
const SweptRow* optimal(const std::vector<SweptRow>& list) {
  double best = 0;
  for (const SweptRow& one : list)
    best = std::max(best, mean_of(one.row));
  const SweptRow* chosen = nullptr;
  for (const SweptRow& one : list) {
    if (mean_of(one.row) < best * kGoodEnough || best <= 0) continue;
    if (chosen == nullptr ||
        std::pair(one.workers, one.prefetch) < std::pair(chosen->workers, chosen->prefetch))
      chosen = &one;
  }
  return chosen;
}

std::vector<results::LoaderSweepLine> sweep_lines(const std::vector<SweptRow>& list,
                                                  const SweptRow* best) {
  std::vector<results::LoaderSweepLine> lines;
  for (const SweptRow& one : list) {
    const auto& summary = one.row->summary;
    results::LoaderSweepLine& line = lines.emplace_back();
    line.workers = one.workers;
    line.prefetch = one.prefetch;
    line.optimal = &one == best;
    if (one.row->peak_rss_bytes) line.memory_bytes = static_cast<double>(*one.row->peak_rss_bytes);
    if (!summary)
      line.samples_per_s.reason = one.row->reason;
    else if (summary->ci95)
      line.samples_per_s.value = {mean_of(one.row), summary->ci95->low, summary->ci95->high};
    else
      line.samples_per_s.value = analysis::exactly(mean_of(one.row));
  }
  return lines;
}

/// Whether the interval of some other row lies wholly below that of `best`.
bool any_is_slower(const std::vector<SweptRow>& swept, const SweptRow& best) {
  const auto bounds = [](const SweptRow& one) {
    return one.row->summary ? one.row->summary->ci95 : std::nullopt;
  };
  const auto ours = bounds(best);
  return ours && std::any_of(swept.begin(), swept.end(), [&](const SweptRow& one) {
           const auto theirs = bounds(one);
           return theirs && theirs->high < ours->low;
         });
}

/// What one process wants to hear about the number of workers, R003-13.
std::string advice_of(const SweptRow& best, double slowest, unsigned cores) {
  const double rate = mean_of(best.row);
  const std::string times =
      slowest > 0 ? fmt::format("; {:.1f} x the slowest of the table", rate / slowest) : "";
  if (best.workers == 0)
    return "no workers are fastest: the samples cost little, or the CPU is the limit" + times;
  if (best.workers > static_cast<int>(cores))
    return "more workers than cores are fastest: they wait for storage" + times;
  if (best.workers >= 16) return "many workers: make sure of cores and memory for them" + times;
  return "a balanced setting; storage that is far away may want more workers" + times;
}

std::optional<results::WorkerGuide> guide_of(const std::vector<results::LoaderSweepLine>& lines,
                                             bool remote) {
  std::vector<analysis::WorkerPoint> points;
  for (const results::LoaderSweepLine& line : lines)
    if (line.samples_per_s.value)
      points.push_back({line.workers, line.samples_per_s.value->point, line.memory_bytes});
  return analysis::worker_guide(points,
                                {usable_cores(), static_cast<double>(free_memory_bytes()), remote});
}

results::RecommendedFlags recommendation(const DataloaderPlan& plan,
                                         const std::vector<SweptRow>& swept, const SweptRow* best) {
  LoaderRequest request = plan.loader;
  results::RecommendedFlags recommended;
  if (best != nullptr) {
    request.workers = best->workers;
    request.prefetch = best->prefetch;
    double slowest = 0;
    for (const SweptRow& one : swept)
      if (mean_of(one.row) > 0)
        slowest = slowest > 0 ? std::min(slowest, mean_of(one.row)) : mean_of(one.row);
    recommended.reason = any_is_slower(swept, *best)
                             ? advice_of(*best, slowest, usable_cores())
                             : "no difference shown between the settings: this is the cheapest";
  } else {
    recommended.reason =
        "as it was measured; --sweep workers=1,2,4 or `sluice tune` measures others";
  }
  recommended.flags = loader_flags_text(request);
  return recommended;
}

std::optional<results::EpochEstimate> estimate_of(const Row& row, const InputFacts& input,
                                                  const LoaderRequest& loader) {
  const auto seconds = analysis::epoch_estimate(row, static_cast<double>(input.items));
  if (!seconds) return std::nullopt;
  return results::EpochEstimate{
      .sample_ratio = loader.sample_ratio,
      .samples = input.items,
      .seconds = *seconds,
      .batches = input.items / static_cast<std::uint64_t>(loader.batch_size)};
}

}  // namespace

void conclude(results::ResultFile& file, const DataloaderPlan& plan, const InputFacts& input,
              const WatchedGpu& gpu, const analysis::ProbedData& probed) {
  const analysis::LoaderFacts facts = facts_of(file, input, gpu);
  const Row* base = find_row(file, base_case(input));
  const auto swept = swept_rows(file);
  const SweptRow* best = optimal(swept);
  results::LoaderMetrics loader = analysis::loader_figures(facts);
  loader.workers = plan.loader.workers;
  loader.batch_size = plan.loader.batch_size;
  loader.step = step_of(file, plan, input, facts);
  const analysis::LoaderSetting setting = setting_of(plan, input);
  std::vector<analysis::Advice> advice;
  if (facts.steady)
    advice = advise(analysis::advice_facts(*facts.steady, setting, loader.step, probed));
  loader.findings = analysis::loader_findings(facts, setting, loader.step, advice);
  loader.targets = analysis::loader_targets(facts, plan.targets);
  loader.indicators = analysis::loader_indicators(
      facts, base != nullptr && base->summary->n_runs > 1 ? base->summary->cv : 0);
  if (facts.steady) loader.stages = analysis::stage_shares(*facts.steady);
  loader.sweep = sweep_lines(swept, best);
  loader.guide = guide_of(loader.sweep, plan.loader.remote);
  loader.recommended = recommendation(plan, swept, best);
  if (base != nullptr) loader.epoch = estimate_of(*base, input, plan.loader);
  if (facts.first) loader.first_epoch = {facts.first->page_cache, facts.first->samples};
  if (plan.loader.bundling) loader.bundling = bundling_gain(file, base_case(input));
  if (facts.steady) loader.limit = analysis::limiting_stage(*facts.steady);
  if (loader.step)
    loader.is_it_the_loader.value = to_string(loader.step->verdict);
  else
    loader.is_it_the_loader.reason = "no consumer was emulated; give --step-ms";
  if (!loader.findings.empty()) loader.statement = loader.findings.front().diagnosis;
  file.loader = std::move(loader);
  file.peer_ratios = analysis::peer_ratios(file);
}

}  // namespace sluice::visit
