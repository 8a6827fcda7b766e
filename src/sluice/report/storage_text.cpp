// sluice/report/storage_text.cpp - rates and latencies of reads, a table per pattern.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/storage_text.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

struct Pattern {
  const char* name;
  const char* title;
  const char* rate;  // empty: MB/s says it all
};
constexpr Pattern kPatterns[] = {{"sequential", "sequential read, 1 MB at a time", ""},
                                 {"random", "random read", "reads/s"},
                                 {"get", "whole objects", "objects/s"}};

std::string latency_text(double us) {
  if (us < 1000) return fmt::format("{:.0f} us", us);
  if (us < 1'000'000) return fmt::format("{:.{}f} ms", us * 1e-3, us < 10'000 ? 2 : 1);
  return fmt::format("{:.2f} s", us * 1e-6);
}

std::string rate_text(double rate) {
  return fmt::format("{:.{}f}", rate, rate < 10 ? 2 : rate < 100 ? 1 : 0);
}

/// Few or noisy runs give an interval that says nothing.
std::string interval_text(const stats::Estimate& rate) {
  if (!(rate.high < 20 * rate.low)) return "wide";
  return fmt::format("{} to {}", rate_text(rate.low), rate_text(rate.high));
}

std::string cache_text(const analysis::StorageLine& line) {
  if (line.cache == "bypassed") return "past it";
  if (line.cache == "remote") return "-";
  if (line.cache == "unknown") return "cache state unknown";
  if (line.cache == "mixed" && line.resident_share)
    return fmt::format("mixed, {:.0f} % warm", *line.resident_share * 100);
  return line.cache;
}

std::string row_text(const analysis::StorageLine& line, bool with_rate) {
  std::string text = fmt::format("  {:<9} {:>8} {:>8}  ", line.mode,
                                 line.size == 0 ? "" : bytes_text(line.size), line.concurrency);
  if (!line.rate || !line.mb_per_s || !line.latency_us)
    return text + fmt::format("{}: {}\n", measure::to_string(line.status), printable(line.reason));
  const analysis::ReadLatency& latency = *line.latency_us;
  text += fmt::format("{:>9} {:>16} {:>10} {:>9} {:>9} {:>9} {:>9}  {}\n",
                      rate_text(line.mb_per_s->point), interval_text(*line.mb_per_s),
                      with_rate ? rate_text(line.rate->point) : "", latency_text(latency.p50.point),
                      latency_text(latency.p90.point), latency_text(latency.p99.point),
                      latency_text(latency.max), cache_text(line));
  return text;
}

const analysis::StorageLine* fastest(const std::vector<analysis::StorageLine>& lines,
                                     const std::string& pattern, bool warm) {
  const analysis::StorageLine* best = nullptr;
  for (const analysis::StorageLine& line : lines) {
    const bool far = line.cache == "cold" || line.cache == "bypassed" || line.cache == "remote";
    if (line.pattern != pattern || !line.rate || !(warm ? line.cache == "warm" : far)) continue;
    if (best == nullptr || line.rate->point > best->rate->point) best = &line;
  }
  return best;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value,
                     value == static_cast<double>(static_cast<int>(value)) ? 0 : 1, kUnits[unit]);
}

std::string storage_conclusion(const std::vector<analysis::StorageLine>& lines) {
  std::vector<std::string> parts;
  if (const auto* line = fastest(lines, "sequential", false))
    parts.push_back(
        fmt::format("{} MB/s in sequence ({})", rate_text(line->mb_per_s->point), line->mode));
  if (const auto* line = fastest(lines, "random", false))
    parts.push_back(fmt::format("{} random reads/s of {} ({}, {} at once)",
                                rate_text(line->rate->point), bytes_text(line->size), line->mode,
                                line->concurrency));
  if (const auto* line = fastest(lines, "get", false))
    parts.push_back(fmt::format("{} objects/s up to {} ({} at once)", rate_text(line->rate->point),
                                bytes_text(line->size), line->concurrency));
  std::string text = parts.empty() ? "" : "at best, not from memory: " + join(parts, "; ") + "\n";
  if (const auto* line = fastest(lines, "sequential", true))
    text += fmt::format("from memory: {} MB/s in sequence\n", rate_text(line->mb_per_s->point));
  return text;
}

std::string storage_table(const std::vector<analysis::StorageLine>& lines) {
  std::string text;
  for (const Pattern& pattern : kPatterns) {
    const std::string name = pattern.name;
    const bool there =
        std::any_of(lines.begin(), lines.end(),
                    [&](const analysis::StorageLine& line) { return line.pattern == name; });
    if (!there) continue;
    text +=
        fmt::format("{}\n  {:<9} {:>8} {:>8}  {:>9} {:>16} {:>10} {:>9} {:>9} {:>9} {:>9}  {}\n",
                    pattern.title, "mode", name == "sequential" ? "" : "size", "at once", "MB/s",
                    "95 % interval", pattern.rate, "p50", "p90", "p99", "max", "cache");
    for (const analysis::StorageLine& line : lines)
      if (line.pattern == name) text += row_text(line, name != "sequential");
    text += "\n";
  }
  return text + storage_conclusion(lines);
}

}  // namespace sluice::report
