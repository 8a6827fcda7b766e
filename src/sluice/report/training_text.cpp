// sluice/report/training_text.cpp - metrics and summary of a training run as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/training_text.h"

#include "sluice/analysis/figures.h"
#include "sluice/core/text.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::report {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

/// A number by `format`, or what else there is to say.
std::string figure_cell(const Json& json, const char* key, const char* format, double scale = 1,
                        const char* otherwise = "-") {
  const double value = analysis::number_at(json, key);
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value * scale)
                              : std::string(otherwise);
}

bool on_gpu(const Json& metrics) {
  return analysis::text_at(at(metrics, "run_config"), "device").starts_with("cuda");
}

/// The seed's block, in its own words and order.
std::string training_block(const Json& metrics) {
  const Json& parts = at(at(metrics, "phases"), "per_step");
  const Json& timing = at(metrics, "timing");
  const Json& memory = at(metrics, "memory");
  std::string out = "Training Benchmark Results:\n===========================\n";
  out += "Forward Pass: " + figure_cell(parts, "forward_s", "{:.1f} ms/batch", 1e3, "n/a") + "\n";
  out += "Backward Pass: " + figure_cell(parts, "backward_s", "{:.1f} ms/batch", 1e3, "n/a") + "\n";
  out += fmt::format(
      "Total: {} ({})\n", figure_cell(timing, "step_time_p50_s", "{:.1f} ms/batch", 1e3),
      figure_cell(at(metrics, "throughput"), "samples_per_sec_p50", "{:.0f} samples/sec"));
  out += fmt::format("{}: {} / {}\n", on_gpu(metrics) ? "GPU Memory" : "Memory",
                     analysis::shown(memory, "peak_allocated_bytes", "{:.1f} GB", 1 / kGib),
                     figure_cell(memory, "total_gb", "{:.0f} GB"));
  out += fmt::format("Mixed Precision: {}\n",
                     at(at(metrics, "amp"), "enabled") == true ? "Enabled" : "Disabled");
  out +=
      "Gradient Norm: " + analysis::shown(at(metrics, "gradient_norm"), "final", "{:.3g}") + "\n";
  return out;
}

std::string titled_line(const char* title, const std::string& value) {
  return fmt::format("  {} {}\n", padded(title, 30, false), value);
}

std::string training_figures(const Json& metrics) {
  const Json& timing = at(metrics, "timing");
  const Json& rate = at(metrics, "throughput");
  const Json& loss = at(metrics, "loss");
  const Json& config = at(metrics, "run_config");
  std::string out = titled_line("model, batch, type",
                                fmt::format("{}, {} x {}, {}", analysis::text_at(config, "model"),
                                            figure_cell(config, "per_device_batch_size", "{:.0f}"),
                                            figure_cell(config, "grad_accum_steps", "{:.0f}"),
                                            analysis::text_at(config, "dtype")));
  const Json& engine = at(metrics, "engine");
  out +=
      titled_line("engine", fmt::format("{}, {}, {} threads", analysis::text_at(engine, "device"),
                                        analysis::text_at(engine, "library"),
                                        figure_cell(engine, "threads", "{:.0f}")));
  if (const std::string note = analysis::text_at(engine, "note"); !note.empty())
    out += titled_line("", note);
  out += titled_line(
      "step mean / p50 / p90",
      fmt::format("{} / {} / {} ms", figure_cell(timing, "step_time_mean_s", "{:.2f}", 1e3),
                  figure_cell(timing, "step_time_p50_s", "{:.2f}", 1e3),
                  figure_cell(timing, "step_time_p90_s", "{:.2f}", 1e3)));
  const Json& medians = at(timing, "run_p50_s");
  if (medians.is_array() && medians.size() > 1)
    out +=
        titled_line("", fmt::format("of run {:.0f} of {}, the one with the best median",
                                    analysis::number_at(timing, "kept_run") + 1, medians.size()));
  out += titled_line(
      "tokens mean / p50 / p10",
      fmt::format("{} / {} / {} per s", figure_cell(rate, "tokens_per_sec_mean", "{:.0f}"),
                  figure_cell(rate, "tokens_per_sec_p50", "{:.0f}"),
                  figure_cell(rate, "tokens_per_sec_p10", "{:.0f}")));
  const Json& mfu = at(metrics, "mfu");
  out += titled_line("MFU p50", analysis::shown(mfu, "mfu_p50", "{:.1f} %", 100) + " (" +
                                    analysis::text_at(mfu, "estimator") + ", " +
                                    figure_cell(mfu, "achieved_tflops_p50", "{:.3f} TFLOP/s)"));
  out += titled_line("loss, slope per step", analysis::shown(loss, "final_loss", "{:.4f}") + ", " +
                                                 analysis::shown(loss, "loss_slope", "{:+.2g}"));
  out += titled_line("spread of step times",
                     analysis::shown(at(metrics, "stability"), "step_time_cv", "{:.1f} %", 100));
  const Json& use = at(metrics, "utilization");
  out += titled_line("compute utilization", analysis::shown(use, "compute", "{:.0f} %", 100));
  out += titled_line("memory bandwidth", analysis::shown(use, "memory_bandwidth", "{:.0f} %", 100));
  out += titled_line("first step after",
                     analysis::shown(at(metrics, "start"), "first_step_s", "{:.2f} s"));
  return out;
}

std::string phases(const Json& json) {
  const Json& parts = at(json, "per_step");
  const double step = analysis::number_at(json, "natural_step_s");
  if (!parts.is_object() || !(step > 0)) return "";
  std::string out = fmt::format("\n{:<16} {:>10} {:>9}\n", "phase", "ms/step", "of step");
  const auto row = [&](const std::string& name, double seconds, const char* remark = "") {
    out += fmt::format("{:<16} {:>10.3f} {:>7.1f} %{}\n", name, seconds * 1e3, seconds / step * 100,
                       remark);
  };
  for (const auto& [key, value] : parts.items()) {
    if (!value.is_number()) continue;
    row(printable(key.substr(0, key.rfind("_s"))), value.get<double>());
  }
  row("residual", analysis::number_at(json, "residual_s"),
      at(json, "reconciled") == true ? "" : "  unreconciled");
  row("natural step", step);
  return out;
}

std::string training_libraries(const Json& summary) {
  const Json& list = at(summary, "libraries");
  if (!list.is_array() || list.empty()) return "";
  if (list.size() == 1 && analysis::text_at(list[0], "library") == "sluice") return "";
  std::string out = "\n";
  for (const Json& one : list) {
    std::string found = figure_cell(one, "samples_per_sec", "{:.1f} samples/s", 1, "");
    const bool good = analysis::text_at(one, "status") == "ok";
    if (found.empty() || !good)
      found = analysis::text_at(one, "status") + ": " + analysis::text_at(one, "reason");
    std::string ratio;
    for (const Json& pair : at(summary, "peer_ratios")) {
      if (analysis::text_at(pair, "case") != analysis::text_at(one, "case") ||
          analysis::text_at(pair, "peer") != analysis::text_at(one, "library"))
        continue;
      ratio =
          fmt::format("  sluice is {:.2f} x ({:.2f} to {:.2f})", analysis::number_at(pair, "ratio"),
                      analysis::number_at(at(pair, "ci95"), "low"),
                      analysis::number_at(at(pair, "ci95"), "high"));
    }
    const std::string anchor = good ? analysis::text_at(at(one, "anchor"), "text") : "";
    out += fmt::format("{:<40} {:<18} {:>18}{}{}\n", analysis::text_at(one, "case"),
                       analysis::text_at(one, "library"), found, ratio,
                       anchor.empty() ? "" : "  " + anchor);
  }
  return out;
}

bool has_ours(const Json& summary) {
  for (const Json& one : at(summary, "libraries"))
    if (analysis::text_at(one, "library") == "sluice") return true;
  return false;
}

std::string training_sweep(const Json& summary) {
  const Json& list = at(summary, "sweep");
  if (!list.is_array() || list.empty()) return "";
  std::string out =
      fmt::format("\n{:>6} {:<20} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8}\n", "batch", "dtype",
                  "samples/s", "step ms", "data ms", "fwd ms", "bwd ms", "MiB", "loss");
  for (const Json& one : list) {
    const std::string head =
        fmt::format("{:>6} {:<20} ", figure_cell(one, "batch_size", "{:.0f}"),
                    analysis::text_at(one, "dtype") + (at(one, "compile").is_string() ? " " : "") +
                        analysis::text_at(one, "compile"));
    if (!at(one, "samples_per_sec").is_number()) {
      out += head + analysis::text_at(one, "samples_per_sec_reason") + "\n";
      continue;
    }
    out += head + fmt::format("{:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8}\n",
                              figure_cell(one, "samples_per_sec", "{:.1f}"),
                              figure_cell(one, "step_ms", "{:.2f}"),
                              figure_cell(one, "data_ms", "{:.2f}"),
                              figure_cell(one, "forward_ms", "{:.2f}"),
                              figure_cell(one, "backward_ms", "{:.2f}"),
                              figure_cell(one, "peak_bytes", "{:.0f}", 1.0 / (1024 * 1024)),
                              figure_cell(one, "loss", "{:.4f}"));
  }
  if (const Json& most = at(summary, "max_batch"); most.is_object())
    out +=
        fmt::format("largest batch that should fit: {}{} ({:.1f} MiB and {:.2f} MiB per sample)\n",
                    figure_cell(most, "batch_size", "{:.0f}"),
                    at(most, "capped") == true ? ", four times the largest tried" : "",
                    analysis::number_at(most, "fixed_bytes") / (1024 * 1024),
                    analysis::number_at(most, "bytes_per_sample") / (1024 * 1024));
  if (const Json& critical = at(summary, "critical_batch"); critical.is_object())
    out += fmt::format("larger batches pay up to about {}{}\n",
                       figure_cell(critical, "batch_size", "{:.0f}"),
                       at(critical, "cbs_exceeds_tested") == true ? ", the largest tried" : "");
  return out;
}

std::string amp(const Json& json) {
  if (!at(json, "speedup").is_number()) return "";
  return fmt::format(
      "\nMixed precision over fp32: {:.2f} x as fast, {:.0f} % less memory, loss {:+.2g} after the "
      "same steps\n",
      analysis::number_at(json, "speedup"), analysis::number_at(json, "memory_saving") * 100,
      analysis::number_at(json, "loss_difference"));
}

std::string advice(const Json& list) {
  std::string out;
  if (!list.is_array()) return out;
  for (const Json& one : list)
    if (one.is_string()) out += "  - " + printable(one.get<std::string>()) + "\n";
  return out.empty() ? out : "\nRecommendations\n" + out;
}

std::string epoch(const Json& json) {
  const double seconds = analysis::number_at(json, "estimated_full_epoch_time_seconds");
  if (!std::isfinite(seconds)) return "";
  return fmt::format("full epoch of {} samples: {:.1f} s\n", at(json, "samples").dump(), seconds);
}

}  // namespace

bool is_training_file(const results::ResultFile& file) {
  return at(at(at(file.extra, "metrics"), "timing"), "step_time_p50_s").is_number();
}

std::string training_text(const results::ResultFile& file) {
  const Json& metrics = at(file.extra, "metrics");
  const Json& summary = at(file.extra, "summary");
  std::string out;
  if (is_training_file(file))
    out =
        training_block(metrics) + "\n" + training_figures(metrics) + phases(at(metrics, "phases"));
  else
    out = fmt::format("Training Benchmark Results:\n===========================\n{}\n",
                      has_ours(summary) ? "nothing was measured" : "our engine was not asked for");
  out += training_libraries(summary);
  out += training_sweep(summary);
  out += amp(at(metrics, "amp"));
  out += analysis::checks(at(summary, "targets"), "Targets");
  out += analysis::checks(at(summary, "indicators"), "Indicators");
  out += advice(at(summary, "recommendations"));
  for (const Json& trace : at(summary, "profile"))
    if (trace.is_string()) out += "trace: " + printable(trace.get<std::string>()) + "\n";
  return out + epoch(at(summary, "epoch"));
}

std::string training_markdown(const results::ResultFile& file) {
  const Json& metrics = at(file.extra, "metrics");
  const Json& summary = at(file.extra, "summary");
  const Json& config = at(metrics, "run_config");
  const auto entry = [](const std::string& name, const std::string& value) {
    return fmt::format("- {}: {}\n", name, escape_markdown(value));
  };
  std::string out = "# Performance Benchmark Report\n\n## Configuration\n\n";
  out +=
      entry("GPU", on_gpu(metrics) ? analysis::text_at(at(metrics, "engine"), "device") : "none");
  out += entry("Model", analysis::text_at(config, "model"));
  out += entry("Batch Size", figure_cell(config, "per_device_batch_size", "{:.0f}"));
  out += entry("Data", analysis::text_at(at(metrics, "data"), "source"));
  out += "\n## Results\n\n";
  out += entry("Training",
               figure_cell(at(metrics, "throughput"), "samples_per_sec_p50", "{:.0f} samples/sec"));
  out += entry("GPU Utilization",
               analysis::shown(at(metrics, "utilization"), "compute", "{:.0f}%", 100));
  out += entry("Memory", fmt::format("{} / {}",
                                     analysis::shown(at(metrics, "memory"), "peak_allocated_bytes",
                                                     "{:.1f} GB", 1 / kGib),
                                     figure_cell(at(metrics, "memory"), "total_gb", "{:.0f} GB")));
  out += "\n## Optimizations Applied\n\n";
  if (at(at(metrics, "amp"), "enabled") == true) out += "- Mixed precision (AMP)\n";
  if (at(config, "checkpoint_activations") == true) out += "- Activation checkpointing\n";
  out += "\n## Improvements vs Baseline\n\n";
  bool any = false;
  for (const Json& one : at(summary, "peer_ratios")) {
    any = true;
    out += fmt::format(
        "- {:.2f}x faster training than {} (95 % interval {:.2f} to {:.2f})\n",
        analysis::number_at(one, "ratio"), escape_markdown(analysis::text_at(one, "peer")),
        analysis::number_at(at(one, "ci95"), "low"), analysis::number_at(at(one, "ci95"), "high"));
  }
  if (!any) out += "- n/a: nothing was measured beside it (`--libraries`, `--repeat 3`)\n";
  return out + "\n## Details\n\n```\n" + training_text(file) + "```\n\n";
}

}  // namespace sluice::report
