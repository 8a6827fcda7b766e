// sluice/report/loader_text.cpp - metrics and summary of a loader run as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/loader_text.h"

#include "sluice/analysis/figures.h"
#include "sluice/core/text.h"
#include "sluice/report/findings.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::report {
namespace {

std::string loader_block(const Json& metrics) {
  std::string out = "DataLoader Benchmark Results:\n=============================\n";
  out += "Throughput: " +
         analysis::shown(metrics, "throughput_samples_per_sec", "{:.0f} samples/sec") + "\n";
  out +=
      "GPU Utilization: " + analysis::shown(metrics, "gpu_utilization_percent", "{:.0f}%") + "\n";
  out += "CPU Usage: " + analysis::shown(metrics, "cpu_usage_percent", "{:.0f}%") + "\n";
  out += fmt::format("Memory: {} / {}\n", analysis::shown(metrics, "memory_used_gb", "{:.1f} GB"),
                     analysis::shown(metrics, "memory_total_gb", "{:.0f} GB"));
  out += "Workers: " + analysis::shown(metrics, "workers", "{:.0f} active") + "\n";
  out += "Cache Hit Rate: " + analysis::shown(metrics, "cache_hit_rate", "{:.0f}%", 100) + "\n";
  return out;
}

struct MetricLine {
  const char* key;
  const char* title;
  const char* format;
  double scale;
};
constexpr MetricLine kFurtherMetrics[] = {
    {"load_time_per_batch_ms", "load time per batch", "{:.2f} ms", 1},
    {"first_epoch_samples_per_sec", "first epoch", "{:.0f} samples/s", 1},
    {"batch_time_cv", "spread of batch times", "{:.1f} %", 100},
    {"worker_efficiency", "worker efficiency", "{:.1f} %", 100},
    {"prefetch_efficiency", "prefetch efficiency", "{:.1f} %", 100},
    {"warm_cache_hit_rate", "cache hit rate, later epochs", "{:.1f} %", 100},
    {"download_mb_per_s", "download", "{:.1f} MB/s", 1},
    {"network_overhead", "network overhead", "{:.1f} %", 100},
    {"parallel_download_efficiency", "parallel download efficiency", "{:.1f} %", 100},
    {"mmap_effectiveness", "mmap effectiveness", "{:.1f} %", 100},
    {"sync_overhead", "CPU/GPU synchronisation", "{:.1f} %", 100},
    {"idle_vram", "idle VRAM", "{:.1f} %", 100},
    {"memory_slope_mb_per_epoch", "growth of memory", "{:.2f} MB/epoch", 1},
    {"first_batch_ms", "first batch after", "{:.0f} ms", 1},
    {"shutdown_ms", "shutdown in", "{:.0f} ms", 1},
};

std::string loader_figures(const Json& metrics, const Json& summary) {
  std::string out;
  for (const MetricLine& line : kFurtherMetrics) {
    std::string value = analysis::shown(metrics, line.key, line.format, line.scale);
    if (std::string_view(line.key) == "first_epoch_samples_per_sec") {
      const std::string state = analysis::text_at(at(summary, "first_epoch"), "page_cache");
      if (state == "unknown")
        value += " (cache state unknown)";
      else if (!state.empty())
        value += " (page cache " + state + ")";
    }
    out += fmt::format("  {} {}\n", padded(line.title, 30, false), value);
  }
  return out;
}

std::string loader_sweep(const Json& list) {
  if (!list.is_array() || list.empty()) return "";
  std::string out = fmt::format("\n{:>8} {:>9} {:>12}\n", "workers", "prefetch", "samples/s");
  for (const Json& line : list) {
    const double rate = analysis::number_at(line, "samples_per_sec");
    out += fmt::format("{:>8} {:>9} {:>12}{}\n", at(line, "num_workers").dump(),
                       at(line, "prefetch").dump(),
                       std::isfinite(rate) ? fmt::format("{:.0f}", rate)
                                           : analysis::text_at(line, "samples_per_sec_reason"),
                       at(line, "optimal") == true ? "  ← optimal" : "");
  }
  return out;
}

std::string loader_libraries(const results::ResultFile& file, const Json& summary) {
  std::string out;
  for (const measure::Row& row : file.rows) {
    if (row.library == "sluice" && row.case_name.find('=') != std::string::npos) continue;
    const std::string found =
        row.summary ? fmt::format("{:.0f} {}", row.summary->mean, row.unit)
                    : fmt::format("{}: {}", to_string(row.status), printable(row.reason));
    std::string ratio;
    for (const Json& one : at(summary, "peer_ratios")) {
      if (analysis::text_at(one, "case") != row.case_name ||
          analysis::text_at(one, "peer") != row.library)
        continue;
      ratio =
          fmt::format("  sluice is {:.2f} x ({:.2f} to {:.2f})", analysis::number_at(one, "ratio"),
                      analysis::number_at(at(one, "ci95"), "low"),
                      analysis::number_at(at(one, "ci95"), "high"));
    }
    out += fmt::format("{:<26} {:<22} {:>18}{}\n", row.case_name, row.library, found, ratio);
  }
  return out.empty() ? out : "\n" + out;
}

std::string bundling(const Json& json) {
  if (!json.is_object()) return "";
  const auto times = [&](const char* key) {
    const double ratio = analysis::number_at(json, key);
    return std::isfinite(ratio) ? fmt::format("{:.2f} x", ratio) : std::string("n/a");
  };
  std::string out = fmt::format("\nBundled over unbundled: first epoch {}, later {}",
                                times("first_epoch_ratio"), times("ratio"));
  if (const Json& ci = at(json, "ci95"); ci.is_object())
    out += fmt::format(" (95 % interval {:.2f} to {:.2f})", analysis::number_at(ci, "low"),
                       analysis::number_at(ci, "high"));
  return out + "\n";
}

std::string estimate(const Json& epoch) {
  const double seconds = analysis::number_at(epoch, "estimated_full_epoch_time_seconds");
  if (!std::isfinite(seconds)) return "";
  const Json& ci = at(epoch, "ci95");
  const std::string interval =
      ci.is_object() ? fmt::format(" (95 % interval {:.1f} to {:.1f} s)",
                                   analysis::number_at(ci, "low"), analysis::number_at(ci, "high"))
                     : "";
  return fmt::format("full epoch of {} samples: {:.1f} s{}\n", at(epoch, "samples").dump(), seconds,
                     interval);
}

}  // namespace

bool is_loader_file(const results::ResultFile& file) {
  return at(at(file.extra, "metrics"), "load_time_per_batch_ms").is_number();
}

std::string loader_text(const results::ResultFile& file) {
  const Json& metrics = at(file.extra, "metrics");
  const Json& summary = at(file.extra, "summary");
  std::string out = loader_block(metrics) + "\n" + loader_figures(metrics, summary);
  out += loader_libraries(file, summary);
  out += stages_text(at(summary, "stages"));
  out += analysis::checks(at(summary, "targets"), "Targets");
  out += analysis::checks(at(summary, "indicators"), "Indicators");
  out += findings_text(at(summary, "diagnosis"));
  out += bundling(at(summary, "bundling"));
  out += loader_sweep(at(summary, "sweep"));
  const Json& recommended = at(summary, "recommended");
  out += fmt::format("\nRecommended: {}\n  ({})\n", analysis::text_at(recommended, "flags"),
                     analysis::text_at(recommended, "reason"));
  return out + estimate(at(summary, "epoch"));
}

std::string loader_markdown(const results::ResultFile& file) {
  const Json& metrics = at(file.extra, "metrics");
  const Json& summary = at(file.extra, "summary");
  const Json& config = file.run_config;
  const auto line = [](const std::string& name, const std::string& value) {
    return fmt::format("- {}: {}\n", name, escape_markdown(value));
  };
  std::string out = "# Performance Benchmark Report\n\n## Configuration\n\n";
  out += line("GPU", analysis::text_at(config, "device") == "cpu"
                         ? "none"
                         : analysis::text_at(config, "device"));
  out += line("Batch Size", at(config, "batch_size").dump());
  out += line("Workers", at(config, "num_workers").dump());
  out += line("Dataset", fmt::format("{} samples", file.dataset.count));
  out += "\n## Results\n\n";
  out += line("DataLoader",
              analysis::shown(metrics, "throughput_samples_per_sec", "{:.0f} samples/sec"));
  out += line("Training", "n/a (measured by bench training)");
  out += line("GPU Utilization", analysis::shown(metrics, "gpu_utilization_percent", "{:.0f}%"));
  out +=
      line("Memory", fmt::format("{} / {}", analysis::shown(metrics, "memory_used_gb", "{:.1f} GB"),
                                 analysis::shown(metrics, "memory_total_gb", "{:.0f} GB")));
  out += "\n## Optimizations Applied\n\n";
  if (at(config, "bundling") == true)
    out += fmt::format("- Array bundling enabled ({:g} GB chunks)\n",
                       analysis::number_at(config, "bundle_size_gb"));
  if (at(config, "persistent_workers") == true) out += "- Persistent workers\n";
  if (at(config, "cached") == true) out += "- Local caching\n";
  if (at(config, "pin_memory") == true) out += "- Pinned memory\n";
  out += "\n## Improvements vs Baseline\n\n";
  bool any = false;
  for (const Json& one : at(summary, "peer_ratios")) {
    any = true;
    out += fmt::format(
        "- {:.2f}x faster data loading than {} (95 % interval {:.2f} to {:.2f})\n",
        analysis::number_at(one, "ratio"), escape_markdown(analysis::text_at(one, "peer")),
        analysis::number_at(at(one, "ci95"), "low"), analysis::number_at(at(one, "ci95"), "high"));
  }
  if (const double ratio = analysis::number_at(at(summary, "bundling"), "first_epoch_ratio");
      std::isfinite(ratio)) {
    any = true;
    out += fmt::format("- {:.2f}x faster data loading with bundles, first epoch\n", ratio);
  }
  if (!any) out += "- n/a: nothing was measured beside it (`--libraries`, `--enable-bundling`)\n";
  out += "\n## Details\n\n```\n" + loader_text(file) + "```\n\n";
  return out;
}

}  // namespace sluice::report
