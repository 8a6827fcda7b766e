// sluice/report/mixture/text.cpp - the sections of a mixture's report, line by line.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/mixture/text.h"

#include "sluice/analysis/mixture/shares.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/gain/resource_lines.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice::report {
namespace {

constexpr std::size_t kName = 34;  // columns of a data set's name
constexpr double kAlarm = 0.001;   // p of shares below which they are called off

std::string name_cell(const std::string& name) {
  return padded(clip(printable(name), kName), kName, false);
}

std::string title_line(const std::string& text) {
  return "\n" + text + "\n" + std::string(display_width(text), '-') + "\n";
}

std::string overall(const analysis::MixtureAnalysis& a) {
  std::string out = fmt::format(
      "  {:.3f} batches/s, {:.1f} samples/s (batch of {})\n"
      "  batch time: mean {:.4f} s, p50 {:.4f}, p90 {:.4f}, p99 {:.4f}, max {:.4f}\n"
      "  {} batches measured, {} before them to warm up\n",
      a.batches_per_s, a.samples_per_s, a.facts.batch_size, a.time.mean, a.time.p50, a.time.p90,
      a.time.p99, a.time.max, a.time.n, a.warmup_batches);
  if (a.mean_materialize_s > 0)
    out += fmt::format("  fetch {:.4f} s, materialize {:.4f} s on average\n", a.mean_fetch_s,
                       a.mean_materialize_s);
  if (a.facts.start_s) out += fmt::format("  first batch after {:.3f} s", *a.facts.start_s);
  if (a.facts.start_s && a.facts.stop_s)
    out += fmt::format(", ended {:.3f} s after the last", *a.facts.stop_s);
  if (a.facts.start_s) out += "\n";
  return title_line("Results") + out;
}

std::string dominant_section(const analysis::MixtureAnalysis& a) {
  std::string out = title_line("By dominant data set, slowest first");
  if (a.dominants.empty()) return out + "  not known: measured without metadata\n";
  out += fmt::format("  {} {:>6} {:>9} {:>9} {:>9} {:>11}\n", padded("data set", kName, false), "n",
                     "mean s", "p50 s", "p90 s", "first seen");
  for (const analysis::DominantRow& row : a.dominants)
    out += fmt::format("  {} {:>6} {:>9.4f} {:>9.4f} {:>9.4f} {:>11}\n", name_cell(row.name),
                       row.time.n, row.time.mean, row.time.p50, row.time.p90, row.first_seen);
  return out;
}

/// With equal weights all data sets of a batch may have as much: then they tie, and nobody is
/// named.
std::string weighted_section(const analysis::MixtureAnalysis& a) {
  if (!a.weighted) return "";
  const analysis::WeightedDominance& w = *a.weighted;
  std::string out = title_line("Dominance by weight (samples over what was asked for)");
  out += fmt::format("  {} {:>6} {:>6} {:>9} {:>9}\n", padded("data set", kName, false), "alone",
                     "tied", "by count", "mean s");
  for (const auto& row : w.rows)
    out += fmt::format("  {} {:>6} {:>6} {:>9} {:>9.4f}\n", name_cell(row.name), row.alone,
                       row.tied, row.by_count, row.mean_s);
  out += fmt::format(
      "  {} of {} batches have one dominant data set; {:.1f} share the first place "
      "on average\n",
      w.decided, w.batches, w.mean_tied);
  if (w.switch_rate)
    out += fmt::format("  switch rate {:.4f} of neighbours that have one\n", *w.switch_rate);
  return out;
}

std::string bottleneck_section(const analysis::MixtureAnalysis& a) {
  if (a.bottlenecks.empty()) return "";
  std::string out = title_line("Bottlenecks: time of readers and decoders, most first");
  out += fmt::format("  {} {:>9} {:>10} {:>8} {:>10} {:>8}\n", padded("data set", kName, false),
                     "read ms", "decode ms", "of time", "of samples", "starved");
  for (const analysis::BottleneckRow& row : a.bottlenecks)
    out +=
        fmt::format("  {} {:>9.3f} {:>10.3f} {:>6.1f} % {:>8.1f} % {:>8}\n", name_cell(row.name),
                    row.read_ms, row.decode_ms, 100 * row.share, 100 * row.of_samples, row.starved);
  return out + "  a sample; reading by the clock, decoding by thread time, the warm-up counted\n";
}

std::string line_of(const std::string& what, const analysis::TimeSummary& time) {
  if (time.n == 0) return fmt::format("  {} {:>6}\n", padded(what, 22, false), 0);
  return fmt::format("  {} {:>6} {:>9.4f} {:>9.4f}\n", padded(what, 22, false), time.n, time.mean,
                     time.p90);
}

std::string switches_and_gaps(const analysis::MixtureAnalysis& a) {
  if (a.dominants.empty()) return "";
  const std::string head =
      fmt::format("  {} {:>6} {:>9} {:>9}\n", std::string(22, ' '), "n", "mean s", "p90 s");
  std::string out = title_line("Switching of the dominant data set");
  out += head + line_of("switched", a.switched) + line_of("stayed", a.stayed);
  out += fmt::format("  switch rate {:.4f}, {} data sets dominated\n", a.switch_rate,
                     a.dominants.size());
  out += title_line("Batches since the same data set dominated");
  out += head + line_of("first time", a.first_time) + line_of("again", a.returned);
  for (const analysis::GapBucket& bucket : a.gaps)
    out += line_of(bucket.most == 0 ? fmt::format("  after {}+", bucket.least)
                                    : fmt::format("  after {}-{}", bucket.least, bucket.most),
                   bucket.time);
  if (a.returned.n > 0)
    out += fmt::format("  gap: mean {:.1f}, p90 {:.1f} batches\n", a.mean_gap, a.p90_gap);
  return out;
}

std::string slowest(const analysis::MixtureAnalysis& a) {
  std::string out = title_line("Slowest batches");
  for (const results::BatchTime& batch : a.slowest) {
    auto counts = batch.dataset_counts;
    std::stable_sort(counts.begin(), counts.end(),
                     [](const auto& x, const auto& y) { return x.second > y.second; });
    std::string held;
    for (std::size_t i = 0; i < std::min<std::size_t>(counts.size(), 3); ++i)
      held += fmt::format("{}{} {}", i == 0 ? "" : ", ", clip(printable(counts[i].first), 24),
                          counts[i].second);
    if (counts.size() > 3) held += fmt::format(", {} more", counts.size() - 3);
    out += fmt::format(
        "  {:>7} {:>9.4f} s{}{}  {}\n", batch.idx, batch.dt_s, batch.is_warmup ? "  warm-up" : "",
        batch.dominant_gap_batches ? fmt::format("  gap {}", *batch.dominant_gap_batches)
                                   : std::string(),
        held);
  }
  return out;
}

/// What the shares of a mix are held against: chance where it draws, its bound where it does not.
std::string share_verdict(const analysis::MixtureAnalysis& a) {
  if (!a.share_test) return "  no test: " + a.share_test_reason + "\n";
  const std::string who = printable(a.shares.front().name);
  if (a.facts.mix == "deficit") {
    std::size_t starved = 0;
    for (const analysis::ShareRow& row : a.shares)
      if (row.starved > 0) ++starved;
    const bool within = a.largest_blocks <= 1 + 1e-9;  // rounding of shares
    return fmt::format("  furthest off: {} by {:.2f} blocks; the bound of one block is {}{}\n", who,
                       a.largest_blocks, within ? "kept" : "not kept",
                       starved == 0 ? std::string()
                                    : fmt::format("; {} data sets were not always ready", starved));
  }
  return fmt::format(
      "  furthest off: {} by {:+.2f} percentage points; chance gives as much with p = {:.2g}{}{}\n",
      who, 100 * (a.shares.front().realised - a.shares.front().requested), a.share_test->p,
      a.share_test->simulated ? " (simulated)" : "",
      a.share_test->p < kAlarm ? ": NOT the shares that were asked for" : "");
}

std::string shares(const analysis::MixtureAnalysis& a) {
  if (a.shares.empty()) return "";
  std::string out = title_line("Shares, furthest off first");
  out += fmt::format("  {} {:>10} {:>10} {:>9} {:>8} {:>6}\n", padded("data set", kName, false),
                     "requested", "realised", "samples", "starved", "bad");
  for (const analysis::ShareRow& row : a.shares)
    out += fmt::format("  {} {:>8.2f} % {:>8.2f} % {:>9} {:>8} {:>6}\n", name_cell(row.name),
                       100 * row.requested, 100 * row.realised, row.samples, row.starved, row.bad);
  return out + share_verdict(a);
}

std::string stages(const analysis::MixtureAnalysis& a) {
  double total = 0;
  for (const auto& stage : a.facts.stage_cpu_s)
    total += stage.second;
  if (!(total > 0)) return "";
  std::string out = title_line("CPU time by stage");
  for (const auto& stage : a.facts.stage_cpu_s)
    out += fmt::format("  {} {:>9.3f} s {:>6.1f} %\n", padded(printable(stage.first), 12, false),
                       stage.second, 100 * stage.second / total);
  if (a.facts.cpu_s && *a.facts.cpu_s > 0)
    out +=
        fmt::format("  {} {:>9.3f} s of {:.3f} s that the process used ({:.1f} %)\n",
                    padded("sum", 12, false), total, *a.facts.cpu_s, 100 * total / *a.facts.cpu_s);
  return out;
}

std::string memory_section(const analysis::MixtureAnalysis& a) {
  std::string out = title_line("Memory");
  if (!a.memory_growth) return out + "  growth not known: " + a.memory_reason + "\n";
  constexpr double kKilo = 1000;
  return out + fmt::format(
                   "  growth {:+.1f} KB per 1,000 batches (95 % interval {:+.1f} to "
                   "{:+.1f})\n",
                   a.memory_growth->point / kKilo, a.memory_growth->low / kKilo,
                   a.memory_growth->high / kKilo);
}

}  // namespace

std::string mixture_text(const analysis::MixtureAnalysis& analysis) {
  const std::string out = overall(analysis) + dominant_section(analysis) +
                          weighted_section(analysis) + switches_and_gaps(analysis) +
                          slowest(analysis) + shares(analysis) + bottleneck_section(analysis) +
                          stages(analysis) + memory_section(analysis);
  return out.substr(1);  // the blank line above the first heading
}

std::string mixture_resources(const results::ResourceUse& use) {
  std::string out = title_line("The machine while rows were measured");
  for (const ResourceLine& line : resource_lines(use))
    out += fmt::format("  {} {}\n", padded(line.name, 10, false), line.summary());
  if (!use.no_gpu.empty())
    out += fmt::format("  {} n/a: {}\n", padded("GPU", 10, false), printable(use.no_gpu));
  return out;
}

Result<std::string> mixture_summary(std::span<const results::BatchTime> batches,
                                    const MixtureDrawing& drawing) {
  SLUICE_TRY(
      const analysis::MixtureShares top,
      analysis::mixture_shares(batches, static_cast<std::size_t>(std::max(drawing.top_k, 1))));
  std::set<std::string> dominants;
  std::size_t measured = 0;
  for (const results::BatchTime& batch : batches) {
    if (batch.is_warmup) continue;
    ++measured;
    if (!batch.dominant_dataset.empty()) dominants.insert(batch.dominant_dataset);
  }
  std::string out = fmt::format(
      "Mixture summary\n{}\nmeasured_batches: {}\nunique_dominant_datasets: {}\n"
      "dominant_switch_rate: {:.4f}\ntop_datasets:\n",
      std::string(16, '='), measured, dominants.size(), analysis::dominant_switch_rate(batches));
  for (std::size_t i = 0; i < top.names.size() - (top.has_other ? 1 : 0); ++i)
    out += fmt::format("  - {}: {:.4f}\n", printable(top.names[i]), top.mean[i]);
  return out;
}

}  // namespace sluice::report
