// sluice/visit/loader/result.cpp - rows in, conclusions out; nothing is measured here.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/result.h"

#include "sluice/analysis/loader_verdict.h"
#include "sluice/analysis/peer_ratio.h"
#include "sluice/core/thread_pool.h"
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

Json sweep_json(const std::vector<SweptRow>& list, const SweptRow* best) {
  Json json = Json::array();
  for (const SweptRow& one : list) {
    Json line{{"num_workers", one.workers}, {"prefetch", one.prefetch}};
    if (one.row->summary) {
      line["samples_per_sec"] = mean_of(one.row);
      if (one.row->summary->ci95)
        line["ci95"] = {{"low", one.row->summary->ci95->low},
                        {"high", one.row->summary->ci95->high}};
    } else {
      line["samples_per_sec"] = nullptr;
      line["samples_per_sec_reason"] = one.row->reason;
    }
    line["optimal"] = &one == best;
    json.push_back(std::move(line));
  }
  return json;
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

Json recommendation(const DataloaderPlan& plan, const std::vector<SweptRow>& swept,
                    const SweptRow* best) {
  LoaderRequest request = plan.loader;
  Json json;
  if (best != nullptr) {
    request.workers = best->workers;
    request.prefetch = best->prefetch;
    double slowest = 0;
    for (const SweptRow& one : swept)
      if (mean_of(one.row) > 0)
        slowest = slowest > 0 ? std::min(slowest, mean_of(one.row)) : mean_of(one.row);
    json["reason"] = advice_of(*best, slowest, usable_cores());
  } else {
    const int cores = static_cast<int>(usable_cores());
    if (!plan.loader.remote && request.workers < cores) request.workers = cores;
    json["reason"] = "one worker per core; measure others with --sweep workers=...";
  }
  json["flags"] = loader_flags_text(request);
  return json;
}

Json estimate_json(const Row& row, const InputFacts& input, const LoaderRequest& loader) {
  const auto seconds = analysis::epoch_estimate(row, static_cast<double>(input.items));
  if (!seconds) return nullptr;
  Json json{{"sample_ratio", loader.sample_ratio},
            {"samples", input.items},
            {"estimated_full_epoch_time_seconds", seconds->point}};
  if (seconds->confidence > 0) json["ci95"] = {{"low", seconds->low}, {"high", seconds->high}};
  json["estimated_total_batches"] = input.items / static_cast<std::uint64_t>(loader.batch_size);
  return json;
}

}  // namespace

void conclude(results::ResultFile& file, const DataloaderPlan& plan, const InputFacts& input,
              const WatchedGpu& gpu) {
  const analysis::LoaderFacts facts = facts_of(file, input, gpu);
  Json metrics = analysis::loader_metrics_json(facts);
  metrics["workers"] = plan.loader.workers;
  metrics["batch_size"] = plan.loader.batch_size;
  Json summary = Json::object();
  const auto step = step_of(file, plan, input, facts);
  const auto findings = analysis::loader_findings(facts, setting_of(plan, input), step);
  const Row* base = find_row(file, base_case(input));
  const auto list_of = [](const auto& things) {
    Json json = Json::array();
    for (const auto& one : things)
      json.push_back(analysis::to_json(one));
    return json;
  };
  summary["targets"] = list_of(analysis::loader_targets(facts));
  summary["indicators"] = list_of(analysis::loader_indicators(
      facts, base != nullptr && base->summary->n_runs > 1 ? base->summary->cv : 0));
  if (facts.steady) summary["stages"] = analysis::stages_json(*facts.steady);
  summary["diagnosis"] = list_of(findings);
  if (step) summary["step"] = analysis::to_json(*step);
  const auto swept = swept_rows(file);
  const SweptRow* best = optimal(swept);
  if (!swept.empty()) summary["sweep"] = sweep_json(swept, best);
  summary["recommended"] = recommendation(plan, swept, best);
  if (base != nullptr) summary["epoch"] = estimate_json(*base, input, plan.loader);
  if (facts.first)
    summary["first_epoch"] =
        Json{{"page_cache", facts.first->page_cache}, {"samples", facts.first->samples}};
  if (plan.loader.bundling) summary["bundling"] = bundling_summary(file, base_case(input));
  Json ratios = Json::array();
  for (const analysis::PeerRatio& ratio : analysis::peer_ratios(file))
    ratios.push_back(analysis::to_json(ratio));
  if (!ratios.empty()) summary["peer_ratios"] = std::move(ratios);
  Json verdict{{"limit", facts.steady ? analysis::limiting_stage(*facts.steady) : ""}};
  verdict["is_it_the_loader"] = step ? Json(analysis::to_string(step->verdict)) : Json(nullptr);
  if (!step) verdict["is_it_the_loader_reason"] = "no consumer was emulated; give --step-ms";
  if (!findings.empty()) verdict["statement"] = findings.front().diagnosis;
  file.extra =
      Json{{"metrics", std::move(metrics)}, {"verdict", std::move(verdict)}, {"summary", summary}};
}

}  // namespace sluice::visit
