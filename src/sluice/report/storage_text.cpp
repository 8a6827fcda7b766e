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

// Below both a rate is that of single reads.
constexpr std::uint64_t kFewReads = 32, kFewBytes = std::uint64_t{32} << 20U;
constexpr double kSomeMemory = 0.05, kMostMemory = 0.5;
constexpr std::int64_t kLittleData = std::int64_t{64}
                                     << 20U;  // drives hold as much in their memory

bool few_reads(const analysis::StorageLine& line) {
  if (line.pattern == "sequential" || !line.reads) return false;
  return *line.reads < kFewReads && *line.reads * line.largest.value_or(line.size) < kFewBytes;
}

/// Pages that were cold, and yet read faster than any device answers.
bool partly_memory(const analysis::StorageLine& line) {
  return line.cache != "warm" && line.pattern != "sequential" &&
         line.memory_share.value_or(0) >= kSomeMemory;
}

/// The state of the page cache before the sample, and what the row is not worth.
std::string cache_text(const analysis::StorageLine& line) {
  std::string text = line.cache;
  if (line.cache == "bypassed") text = "past it";
  if (line.cache == "remote") text = "-";
  if (line.cache == "unknown") text = "cache state unknown";
  if (line.cache == "mixed" && line.resident_share)
    text = fmt::format("mixed, {:.0f} % warm", *line.resident_share * 100);
  if (partly_memory(line))
    text += fmt::format("; {:.0f} % of reads from memory", *line.memory_share * 100);
  if (few_reads(line))
    text += *line.reads == 1 ? "; only 1 read" : fmt::format("; only {} reads", *line.reads);
  return text;
}

/// What a row reads: "4 KiB", "256 of 16 KiB", "58 of 31.2 to 96.4 KiB".
std::string read_text(const analysis::StorageLine& line) {
  if (line.size == 0) return "";
  if (line.pattern != "get") return bytes_text(line.size);
  if (!line.smallest || !line.largest || !line.reads) return "up to " + bytes_text(line.size);
  std::string low = bytes_text(*line.smallest);
  const std::string high = bytes_text(*line.largest);
  if (low == high) return fmt::format("{} of {}", *line.reads, high);
  const std::size_t space = low.find(' ');
  if (low.substr(space) == high.substr(high.find(' '))) low.resize(space);
  return fmt::format("{} of {} to {}", *line.reads, low, high);
}

std::string row_text(const analysis::StorageLine& line, bool with_rate, std::size_t width) {
  std::string text =
      fmt::format("  {:<9} {:>{}} {:>8}  ", line.mode, read_text(line), width, line.concurrency);
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
    if (few_reads(line)) continue;
    if (partly_memory(line) && *line.memory_share > kMostMemory) continue;
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
    parts.push_back(fmt::format("{} objects/s of up to {} ({} at once)",
                                rate_text(line->rate->point),
                                bytes_text(line->largest.value_or(line->size)), line->concurrency));
  std::string text = parts.empty() ? "" : "at best, not from memory: " + join(parts, "; ") + "\n";
  if (const auto* line = fastest(lines, "sequential", true))
    text += fmt::format("from memory: {} MB/s in sequence\n", rate_text(line->mb_per_s->point));
  return text;
}

/// What rows are marked with, in sentences.
static std::string warnings(const std::vector<analysis::StorageLine>& lines) {
  std::string text;
  if (std::any_of(lines.begin(), lines.end(), few_reads))
    text += fmt::format(
        "Too little data: rows with fewer than {} small reads show single reads, not what the "
        "storage can do. A larger --input, or none, has enough.\n",
        kFewReads);
  if (std::any_of(lines.begin(), lines.end(), partly_memory))
    text +=
        "Reads that took less time than any device needs came from memory: the system had read "
        "them ahead with their neighbours. Mode direct reads from the device alone.\n";
  return text;
}

std::string storage_table(const std::vector<analysis::StorageLine>& lines) {
  std::string text;
  for (const Pattern& pattern : kPatterns) {
    const std::string name = pattern.name;
    std::size_t width = 8;
    bool there = false;
    for (const analysis::StorageLine& line : lines) {
      if (line.pattern != name) continue;
      there = true;
      width = std::max(width, read_text(line).size());
    }
    if (!there) continue;
    const char* what = name == "sequential" ? "" : name == "get" ? "objects" : "size";
    text +=
        fmt::format("{}\n  {:<9} {:>{}} {:>8}  {:>9} {:>16} {:>10} {:>9} {:>9} {:>9} {:>9}  {}\n",
                    pattern.title, "mode", what, width, "at once", "MB/s", "95 % interval",
                    pattern.rate, "p50", "p90", "p99", "max", "cache");
    for (const analysis::StorageLine& line : lines)
      if (line.pattern == name) text += row_text(line, name != "sequential", width);
    text += "\n";
  }
  return text + storage_conclusion(lines) + warnings(lines);
}

std::string storage_text(const results::ResultFile& file) {
  if (!file.storage) return "";
  std::string text = storage_table(file.storage->lines);
  const auto& data = file.dataset;
  if (data.bytes < kLittleData && file.timing.data_source == "file")
    text += fmt::format(
        "The input is small: {} in {} files, which a drive may hold in its own memory. For the "
        "speed of a large data set give one of {} or more.\n",
        bytes_text(static_cast<std::uint64_t>(data.bytes)), data.count,
        bytes_text(static_cast<std::uint64_t>(kLittleData)));
  return text;
}

}  // namespace sluice::report
