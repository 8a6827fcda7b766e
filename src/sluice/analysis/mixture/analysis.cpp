// sluice/analysis/mixture/analysis.cpp - batch times to rates, dominants, switches, gaps, shares.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/analysis.h"

#include "sluice/stats/slope.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::analysis {
namespace {

using results::BatchTime;

TimeSummary summary_of(const std::vector<double>& times) {
  TimeSummary out;
  out.n = times.size();
  if (times.empty()) return out;
  constexpr double kAsked[] = {50, 90, 99, 100};
  const auto mean = stats::mean(times);
  const auto found = stats::percentiles(times, kAsked);
  if (!mean || !found) return out;  // finite by the reader
  out.mean = *mean;
  out.p50 = (*found)[0];
  out.p90 = (*found)[1];
  out.p99 = (*found)[2];
  out.max = (*found)[3];
  return out;
}

template <class Wanted>
TimeSummary summary_where(const std::vector<const BatchTime*>& batches, Wanted wanted) {
  std::vector<double> times;
  for (const BatchTime* batch : batches)
    if (wanted(*batch)) times.push_back(batch->dt_s);
  return summary_of(times);
}

std::uint64_t samples_of(const BatchTime& batch) {
  std::uint64_t sum = 0;
  for (const auto& count : batch.dataset_counts)
    sum += count.second;
  return sum;
}

void rates(MixtureAnalysis& out, const std::vector<const BatchTime*>& measured) {
  out.time = summary_where(measured, [](const BatchTime&) { return true; });
  double total = 0;
  for (const BatchTime* batch : measured) {
    total += batch->dt_s;
    out.mean_fetch_s += batch->fetch_dt_s;
    out.mean_materialize_s += batch->materialize_dt_s;
  }
  const auto n = static_cast<double>(measured.size());
  out.mean_fetch_s /= n;
  out.mean_materialize_s /= n;
  out.batches_per_s = total > 0 ? n / total : 0;
  out.samples_per_s = out.batches_per_s * out.facts.batch_size;
}

void add_by_dominant(MixtureAnalysis& out, std::span<const BatchTime> batches,
                     const std::vector<const BatchTime*>& measured) {
  std::map<std::string, std::uint64_t> first;
  for (const BatchTime& batch : batches)
    for (const auto& count : batch.dataset_counts)
      first.try_emplace(count.first, batch.idx);
  std::map<std::string, std::vector<double>> times;
  for (const BatchTime* batch : measured)
    if (!batch->dominant_dataset.empty()) times[batch->dominant_dataset].push_back(batch->dt_s);
  for (const auto& [name, list] : times)
    out.dominants.push_back({name, summary_of(list), first[name]});
  std::stable_sort(
      out.dominants.begin(), out.dominants.end(),
      [](const DominantRow& a, const DominantRow& b) { return a.time.mean > b.time.mean; });
}

/// Measured batches whose dominant data set is known: the list the rates of change are taken of.
std::vector<const BatchTime*> known_dominants(const std::vector<const BatchTime*>& measured) {
  std::vector<const BatchTime*> known;
  for (const BatchTime* batch : measured)
    if (!batch->dominant_dataset.empty()) known.push_back(batch);
  return known;
}

std::vector<const BatchTime*> measured_of(std::span<const BatchTime> batches) {
  std::vector<const BatchTime*> measured;
  for (const BatchTime& batch : batches)
    if (!batch.is_warmup) measured.push_back(&batch);
  return measured;
}

double switch_rate_of(const std::vector<const BatchTime*>& known) {
  std::size_t switches = 0;
  for (std::size_t i = 1; i < known.size(); ++i)
    if (known[i]->dominant_dataset != known[i - 1]->dominant_dataset) ++switches;
  return static_cast<double>(switches) /
         static_cast<double>(std::max<std::size_t>(known.size(), 2) - 1);
}

void switching(MixtureAnalysis& out, const std::vector<const BatchTime*>& known) {
  std::vector<double> switched;
  std::vector<double> stayed;
  for (std::size_t i = 1; i < known.size(); ++i) {
    const bool same = known[i]->dominant_dataset == known[i - 1]->dominant_dataset;
    (same ? stayed : switched).push_back(known[i]->dt_s);
  }
  out.switch_rate = switch_rate_of(known);
  out.switched = summary_of(switched);
  out.stayed = summary_of(stayed);
}

void gap_analysis(MixtureAnalysis& out, const std::vector<const BatchTime*>& known) {
  out.first_time = summary_where(known, [](const BatchTime& b) { return !b.dominant_gap_batches; });
  out.returned =
      summary_where(known, [](const BatchTime& b) { return b.dominant_gap_batches.has_value(); });
  std::vector<double> gaps;
  for (const BatchTime* batch : known)
    if (batch->dominant_gap_batches)
      gaps.push_back(static_cast<double>(*batch->dominant_gap_batches));
  const TimeSummary of_gaps = summary_of(gaps);
  out.mean_gap = of_gaps.mean;
  out.p90_gap = of_gaps.p90;
  out.gaps = {{{1, 4, {}}, {5, 32, {}}, {33, 256, {}}, {257, 0, {}}}};
  for (GapBucket& bucket : out.gaps) {
    bucket.time = summary_where(known, [&](const BatchTime& b) {
      return b.dominant_gap_batches && *b.dominant_gap_batches >= bucket.least &&
             (bucket.most == 0 || *b.dominant_gap_batches <= bucket.most);
    });
  }
}

void find_slowest(MixtureAnalysis& out, std::span<const BatchTime> batches, std::size_t most) {
  std::vector<const BatchTime*> all;
  for (const BatchTime& batch : batches)
    all.push_back(&batch);
  std::stable_sort(all.begin(), all.end(),
                   [](const BatchTime* a, const BatchTime* b) { return a->dt_s > b->dt_s; });
  all.resize(std::min(all.size(), most));
  for (const BatchTime* batch : all)
    out.slowest.push_back(*batch);
}

void shares_of(MixtureAnalysis& out) {
  std::uint64_t total = 0;
  for (const auto& source : out.facts.sources)
    total += source.samples;
  if (total == 0) {
    out.share_test_reason = "the requested shares are not known";
    return;
  }
  for (const auto& source : out.facts.sources) {
    out.shares.push_back({source.name, source.requested,
                          static_cast<double>(source.samples) / static_cast<double>(total),
                          source.samples, source.starved, source.bad});
  }
  const auto off = [](const ShareRow& row) { return std::fabs(row.realised - row.requested); };
  std::stable_sort(out.shares.begin(), out.shares.end(),
                   [&](const ShareRow& a, const ShareRow& b) { return off(a) > off(b); });
  if (out.facts.mix_block < 1) {
    out.share_test_reason = "the block that is drawn at once is not known";
    return;
  }
  const auto block = static_cast<std::uint64_t>(out.facts.mix_block);
  std::vector<std::uint64_t> blocks;
  std::vector<double> requested;
  for (const ShareRow& row : out.shares) {
    blocks.push_back((row.samples + block / 2) / block);
    requested.push_back(row.requested);
  }
  out.largest_blocks =
      off(out.shares.front()) * static_cast<double>(total) / static_cast<double>(block);
  const auto test = stats::share_test(blocks, requested);
  if (test)
    out.share_test = *test;
  else
    out.share_test_reason = test.error().message;
}

void add_memory(MixtureAnalysis& out, const std::vector<const BatchTime*>& measured) {
  std::vector<double> x;
  std::vector<double> y;
  for (const BatchTime* batch : measured) {
    if (!batch->rss_bytes) continue;
    x.push_back(static_cast<double>(batch->idx) / 1000);
    y.push_back(static_cast<double>(*batch->rss_bytes));
  }
  if (x.empty()) {
    out.memory_reason = "memory was not recorded";
    return;
  }
  const auto growth = stats::slope(x, y);
  if (growth)
    out.memory_growth = *growth;
  else
    out.memory_reason = growth.error().message;
}

}  // namespace

Result<MixtureAnalysis> analyse_mixture(std::span<const BatchTime> batches, MixtureFacts facts,
                                        std::size_t slowest) {
  const auto measured = measured_of(batches);
  if (measured.empty()) {
    return Error{Errc::invalid_input,
                 fmt::format("Not enough measured batches: {} in all, none after the warm-up",
                             batches.size())};
  }
  MixtureAnalysis out;
  out.facts = std::move(facts);
  out.warmup_batches = batches.size() - measured.size();
  if (out.facts.batch_size == 0) {
    for (const BatchTime* batch : measured)
      out.facts.batch_size = std::max(out.facts.batch_size, static_cast<int>(samples_of(*batch)));
  }
  rates(out, measured);
  add_by_dominant(out, batches, measured);
  const auto known = known_dominants(measured);
  switching(out, known);
  gap_analysis(out, known);
  find_slowest(out, batches, slowest);
  shares_of(out);
  add_memory(out, measured);
  out.weighted = weighted_dominance(measured, out.facts.sources);
  out.bottlenecks = bottlenecks_of(out.facts.sources);
  return out;
}

double dominant_switch_rate(std::span<const BatchTime> batches) {
  return switch_rate_of(known_dominants(measured_of(batches)));
}

}  // namespace sluice::analysis
