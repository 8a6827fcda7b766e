// sluice/report/loader_text.cpp - metrics and summary of a loader run as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/loader_text.h"

#include "sluice/core/text.h"
#include "sluice/report/figures.h"
#include "sluice/report/findings.h"
#include "sluice/report/gain/optimisations.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace sluice::report {
namespace {

using results::LoaderMetrics;

std::string memory_cell(const LoaderMetrics& loader) {
  return fmt::format("{} / {}", shown(loader.memory_used_gb, "{:.1f} GB"),
                     shown(loader.memory_total_gb, "{:.0f} GB"));
}

std::vector<Fact> loader_block(const LoaderMetrics& loader, Unavailable& absent) {
  return {{"Throughput", shown(loader.throughput, "{:.0f} samples/sec")},
          {"GPU Utilization",
           absent.cell("GPU utilization", loader.gpu_utilisation_percent, "{:.0f}%")},
          {"CPU Usage", shown(loader.cpu_usage_percent, "{:.0f}%")},
          {"Memory", memory_cell(loader)},
          {"Workers", loader.workers ? fmt::format("{} active", *loader.workers) : "n/a"},
          {"Cache Hit Rate", absent.cell("cache hit rate", loader.cache_hit_rate, "{:.0f}%", 100)}};
}

struct MetricLine {
  LoaderMetrics::Figure LoaderMetrics::*figure;
  const char* title;
  const char* format;
  double scale;
};
constexpr MetricLine kFurtherMetrics[] = {
    {&LoaderMetrics::load_time_ms, "load time per batch", "{:.2f} ms", 1},
    {&LoaderMetrics::first_epoch_rate, "first epoch", "{:.0f} samples/s", 1},
    {&LoaderMetrics::batch_time_cv, "spread of batch times", "{:.1f} %", 100},
    {&LoaderMetrics::worker_efficiency, "worker efficiency", "{:.1f} %", 100},
    {&LoaderMetrics::prefetch_efficiency, "prefetch efficiency", "{:.1f} %", 100},
    {&LoaderMetrics::warm_cache_hit_rate, "cache hit rate in later epochs", "{:.1f} %", 100},
    {&LoaderMetrics::download_mb_per_s, "download", "{:.1f} MB/s", 1},
    {&LoaderMetrics::network_overhead, "network overhead", "{:.1f} %", 100},
    {&LoaderMetrics::parallel_download_efficiency, "parallel download efficiency", "{:.1f} %", 100},
    {&LoaderMetrics::mmap_effectiveness, "mmap effectiveness", "{:.1f} %", 100},
    {&LoaderMetrics::sync_overhead, "copies to the device", "{:.1f} %", 100},
    {&LoaderMetrics::idle_vram, "idle VRAM", "{:.1f} %", 100},
    {&LoaderMetrics::memory_slope_mb_per_epoch, "memory growth", "{:.2f} MB/epoch", 1},
    {&LoaderMetrics::first_batch_ms, "time to first batch", "{:.0f} ms", 1},
    {&LoaderMetrics::shutdown_ms, "shutdown in", "{:.0f} ms", 1},
};

std::vector<Fact> loader_figures(const LoaderMetrics& loader, Unavailable& absent) {
  std::vector<Fact> facts;
  for (const MetricLine& line : kFurtherMetrics) {
    std::string value = absent.cell(line.title, loader.*line.figure, line.format, line.scale);
    if (!(loader.*line.figure).value) continue;
    if (line.figure == &LoaderMetrics::first_epoch_rate && loader.first_epoch) {
      const std::string state = printable(loader.first_epoch->page_cache);
      if (state == "unknown")
        value += " (cache state unknown)";
      else if (!state.empty())
        value += " (page cache " + state + ")";
    }
    facts.push_back({line.title, value});
  }
  return facts;
}

std::string loader_sweep(const std::vector<results::LoaderSweepLine>& list) {
  if (list.empty()) return "";
  std::string out =
      fmt::format("\n{:>8} {:>9} {:>12} {:>8}\n", "workers", "prefetch", "samples/s", "MB");
  for (const results::LoaderSweepLine& line : list) {
    const auto& rate = line.samples_per_s;
    out +=
        fmt::format("{:>8} {:>9} {:>12} {:>8}{}\n", line.workers, line.prefetch,
                    rate.value ? fmt::format("{:.0f}", rate.value->point) : printable(rate.reason),
                    line.memory_bytes ? fmt::format("{:.0f}", *line.memory_bytes / 1e6) : "-",
                    line.optimal ? "  ← optimal" : "");
  }
  return out;
}

std::string guide_text(const std::optional<results::WorkerGuide>& guide) {
  std::string out = guide && !guide->advice.empty() ? "\nWorkers\n" : "";
  if (guide)
    for (const std::string& line : guide->advice)
      out += "  - " + printable(line) + "\n";
  return out;
}

std::string loader_libraries(const results::ResultFile& file) {
  std::string out;
  for (const measure::Row& row : file.rows) {
    if (row.library == "sluice" && row.case_name.find('=') != std::string::npos) continue;
    const std::string found =
        row.summary ? fmt::format("{:.0f} {}", row.summary->mean, row.unit)
                    : fmt::format("{}: {}", to_string(row.status), printable(row.reason));
    out += fmt::format("{:<26} {:<22} {:>18}{}\n", row.case_name, row.library, found,
                       peer_ratio_text(file.peer_ratios, row.case_name, row.library));
  }
  return out.empty() ? out : "\n" + out;
}

/// Samples that were replaced under --skip-errors, by name.
std::string skipped_samples(const results::ResultFile& file) {
  std::int64_t loads = 0;
  std::set<std::string> named;
  for (const measure::Row& row : file.rows) {
    for (const measure::Run& run : row.runs) {
      for (const Json& details : run.details) {
        const Json& count = at(details, "skipped");
        if (count.is_number_integer()) loads += count.get<std::int64_t>();
        for (const Json& one : at(details, "skipped_samples"))
          if (one.is_string()) named.insert(one.get<std::string>());
      }
    }
  }
  if (loads == 0 && named.empty()) return "";
  std::string out = fmt::format(
      "\nSkipped: {} sample{} that cannot be used; {} time{} another was loaded instead\n",
      named.size(), named.size() == 1 ? "" : "s", loads, loads == 1 ? "" : "s");
  constexpr std::size_t kMostNames = 10;
  std::size_t left = named.size();
  for (auto one = named.begin(); one != named.end() && named.size() - left < kMostNames; ++one)
    out += fmt::format("  {}\n", printable(*one)), --left;
  return left == 0 ? out : out + fmt::format("  and {} more in the result file\n", left);
}

std::string bundling(const std::optional<results::BundlingGain>& gain, const Json& config) {
  if (!gain) return "";
  const auto times = [](std::optional<double> ratio) {
    return ratio ? fmt::format("{:.2f} x", *ratio) : std::string("n/a");
  };
  std::string out =
      fmt::format("\nBundled over unbundled: first epoch {}, later {}", times(gain->first_epoch),
                  times(gain->later ? std::optional(gain->later->point) : std::nullopt));
  if (gain->later && gain->later->confidence > 0)
    out += fmt::format(" (95 % interval {:.2f} to {:.2f})", gain->later->low, gain->later->high);
  return out + "\n" + packing_text(config);
}

std::string estimate(const std::optional<results::EpochEstimate>& epoch) {
  if (!epoch) return "";
  const stats::Estimate& seconds = epoch->seconds;
  return fmt::format("full epoch of {} samples: {:.1f} s{}\n", epoch->samples, seconds.point,
                     seconds.confidence > 0 ? fmt::format(" (95 % interval {:.1f} to {:.1f} s)",
                                                          seconds.low, seconds.high)
                                            : "");
}

}  // namespace

bool is_loader_file(const results::ResultFile& file) {
  return file.loader && file.loader->load_time_ms.value;
}

std::vector<Fact> loader_facts(const results::ResultFile& file) {
  if (!is_loader_file(file)) return {};
  const LoaderMetrics& loader = *file.loader;
  Unavailable absent;
  std::vector<Fact> facts = loader_block(loader, absent);
  for (Fact& fact : loader_figures(loader, absent))
    facts.push_back(std::move(fact));
  const std::pair<const char*, std::string> more[] = {
      {"bundling", bundling(loader.bundling, file.run_config)},
      {"epoch", estimate(loader.epoch)},
      {"", skipped_samples(file)},
      {"", absent.text()}};
  for (const auto& [name, text] : more)
    if (!text.empty()) facts.push_back({name, std::string(trimmed(text))});
  return facts;
}

std::string loader_text(const results::ResultFile& file) {
  const LoaderMetrics loader = file.loader.value_or(LoaderMetrics{});
  Unavailable absent;
  std::string out = "DataLoader Benchmark Results:\n=============================\n";
  for (const Fact& fact : loader_block(loader, absent))
    out += fmt::format("{}: {}\n", fact.name, fact.value);
  out += "\n";
  for (const Fact& fact : loader_figures(loader, absent))
    out += fmt::format("  {} {}\n", padded(fact.name, 30, false), fact.value);
  out += absent.text();  // what both found missing: after them, not in one expression with them
  out += loader_libraries(file);
  out += skipped_samples(file);
  out += stages_text(loader.stages);
  out += checks_text(loader.targets, "Targets");
  out += checks_text(loader.indicators, "Indicators");
  out += findings_text(loader.findings);
  out += bundling(loader.bundling, file.run_config);
  out += loader_sweep(loader.sweep);
  out += guide_text(loader.guide);
  out += fmt::format("\nRecommended: {}\n  ({})\n", printable(loader.recommended.flags),
                     printable(loader.recommended.reason));
  return out + estimate(loader.epoch);
}

std::string loader_markdown(const results::ResultFile& file) {
  const LoaderMetrics& loader = *file.loader;
  const Json& config = file.run_config;
  const auto line = [](const std::string& name, const std::string& value) {
    return fmt::format("- {}: {}\n", name, escape_markdown(value));
  };
  std::string out = "# Performance Benchmark Report\n\n## Configuration\n\n";
  const std::string device = printable(string_at(config, "device"));
  out += line("GPU", device == "cpu" ? "none" : device);
  out += line("Batch Size", at(config, "batch_size").dump());
  out += line("Workers", at(config, "num_workers").dump());
  out += line("Dataset", fmt::format("{} samples", file.dataset.count));
  out += "\n## Results\n\n";
  out += line("DataLoader", shown(loader.throughput, "{:.0f} samples/sec"));
  out += line("Training", "n/a (measured by bench training)");
  out += line("GPU Utilization", shown(loader.gpu_utilisation_percent, "{:.0f}%"));
  out += line("Memory", memory_cell(loader));
  out += "\n## Optimizations Applied\n\n";
  for (const std::string& one : optimisations_of(file))
    out += "- " + escape_markdown(one) + "\n";
  out += "\n## Improvements vs Baseline\n\n";
  std::string gains = ratios_markdown(file.peer_ratios, "data loading");
  if (loader.bundling && loader.bundling->first_epoch)
    gains += fmt::format("- {:.2f}x faster data loading with bundles, first epoch\n",
                         *loader.bundling->first_epoch);
  out += !gains.empty()
             ? gains
             : "- n/a: nothing was measured beside it (`--libraries`, `--enable-bundling`); "
               "`sluice report --baseline RUN` compares with an earlier run\n";
  out += "\n## Details\n\n" + fenced(loader_text(file)) + "\n";
  return out;
}

}  // namespace sluice::report
