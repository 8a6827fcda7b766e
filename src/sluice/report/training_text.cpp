// sluice/report/training_text.cpp - metrics and summary of a training run as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/training_text.h"

#include "sluice/core/text.h"
#include "sluice/gate/baseline/compare.h"
#include "sluice/report/figures.h"
#include "sluice/report/findings.h"
#include "sluice/report/gain/optimisations.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

using results::TrainingMetrics;

/// A number by `format`, or what else there is to say.
std::string figure_cell(const std::optional<double>& value, const char* format, double scale = 1,
                        const char* otherwise = "-") {
  return value && std::isfinite(*value) ? fmt::format(fmt::runtime(format), *value * scale)
                                        : std::string(otherwise);
}

std::string count_cell(const std::optional<std::int64_t>& count) {
  return count ? std::to_string(*count) : "-";
}

/// Text of what a library tells of itself.
std::string told(const Json& engine, const char* key) {
  return printable(string_at(engine, key));
}

bool on_gpu(const TrainingMetrics& metrics) {
  return metrics.config.device.starts_with("cuda");
}

std::string memory_cell(const TrainingMetrics::Memory& memory) {
  return fmt::format("{} / {}", shown(memory.peak_allocated_bytes, "{:.1f} GB", 1 / kGib),
                     figure_cell(memory.total_gb.value, "{:.0f} GB"));
}

/// The seed's block, in its own words and order.
std::vector<Fact> training_block(const TrainingMetrics& metrics, Unavailable& absent) {
  std::vector<Fact> facts;
  for (const auto& [title, phase] : {std::pair{"Forward", "forward"}, {"Backward", "backward"}})
    facts.push_back({fmt::format("{} Pass", title),
                     figure_cell(phase_of(metrics, phase), "{:.1f} ms/batch", 1e3, "n/a")});
  facts.push_back(
      {"Total",
       fmt::format("{} ({})", figure_cell(metrics.timing.p50.value, "{:.1f} ms/batch", 1e3),
                   figure_cell(metrics.throughput.samples_p50.value, "{:.0f} samples/sec"))});
  facts.push_back({on_gpu(metrics) ? "GPU Memory" : "Memory", memory_cell(metrics.memory)});
  facts.push_back({"Mixed Precision", metrics.amp.enabled ? "Enabled" : "Disabled"});
  facts.push_back(
      {"Gradient Norm", absent.cell("gradient norm", metrics.gradient_norm_final, "{:.3g}")});
  return facts;
}

/// "1.00 / 0.90 / 1.20 ms".
std::string three(const TrainingMetrics::Figure& a, const TrainingMetrics::Figure& b,
                  const TrainingMetrics::Figure& c, const char* format, double scale) {
  return fmt::format("{} / {} / {}", figure_cell(a.value, format, scale),
                     figure_cell(b.value, format, scale), figure_cell(c.value, format, scale));
}

/// Which FLOP a figure is of.
std::string model_flop_words(const TrainingMetrics::Mfu& mfu) {
  return fmt::format(" (FLOP of the model, {})", printable(mfu.estimator));
}

void add_line(std::vector<Fact>& facts, const std::string& title, const std::string& value) {
  facts.push_back({title, value});
}

/// FLOP of the model and FLOP executed, each by its name.
void add_flop_facts(std::vector<Fact>& facts, const TrainingMetrics::Mfu& mfu) {
  if (mfu.achieved_tflops_p50.value)
    add_line(
        facts, "compute",
        fmt::format("{:.3f} TFLOP/s{}", *mfu.achieved_tflops_p50.value, model_flop_words(mfu)));
  if (!mfu.executed_tflops_p50.value || !mfu.executed_flop_per_step.value) return;
  add_line(facts, "",
           fmt::format("{:.3f} TFLOP/s (FLOP executed: {:.4g} G of a step)",
                       *mfu.executed_tflops_p50.value, *mfu.executed_flop_per_step.value * 1e-9));
  if (mfu.flop_per_step.value)
    add_line(facts, "",
             fmt::format("the model has {:.4g} G, by 6ND {}", *mfu.flop_per_step.value * 1e-9,
                         figure_cell(mfu.six_nd_flop_per_step.value, "{:.4g} G", 1e-9)));
}

/// "Mixup 0.8, CutMix 1"; empty: images as they are.
std::string mixing_of(const TrainingMetrics::Config& config) {
  std::vector<std::string> kinds;
  for (const auto& [name, key] : {std::pair{"Mixup", "mixup"}, {"CutMix", "cutmix"}})
    if (const Json& alpha = at(config.other, key); alpha.is_number() && alpha.get<double>() > 0)
      kinds.push_back(fmt::format("{} {:g}", name, alpha.get<double>()));
  return join(kinds);
}

/// What batches out of a bucket cost.
void add_cloud(std::vector<Fact>& facts, const TrainingMetrics::Cloud& cloud, Unavailable& absent) {
  const auto add = [&](const char* title, const TrainingMetrics::Figure& figure, const char* format,
                       double scale) {
    const std::string value = absent.cell(title, figure, format, scale);
    if (figure.value) add_line(facts, title, value);
  };
  add("download", cloud.download_mb_per_s, "{:.1f} MB/s", 1);
  add("download without a model", cloud.alone_mb_per_s, "{:.1f} MB/s", 1);
  add("download by one worker", cloud.one_worker_mb_per_s, "{:.1f} MB/s", 1);
  add("parallel download efficiency", cloud.parallel_download_efficiency, "{:.1f} %", 100);
  add("network overhead", cloud.network_overhead, "{:.1f} %", 100);
  add("cache hit rate", cloud.cache_hit_rate, "{:.1f} %", 100);
  add("cache hit rate, timed steps", cloud.warm_cache_hit_rate, "{:.1f} %", 100);
}

std::vector<Fact> training_figures(const TrainingMetrics& metrics, Unavailable& absent) {
  std::vector<Fact> facts;
  const TrainingMetrics::Timing& timing = metrics.timing;
  const TrainingMetrics::Throughput& rate = metrics.throughput;
  const TrainingMetrics::Config& config = metrics.config;
  add_line(facts, "model, batch, type",
           fmt::format("{}, {} x {}, {}", printable(config.model),
                       count_cell(config.per_device_batch_size),
                       count_cell(config.grad_accum_steps), printable(config.dtype)));
  if (const std::string mixing = mixing_of(config); !mixing.empty())
    add_line(facts, "images are mixed", mixing);
  const Json& threads = at(metrics.engine, "threads");
  add_line(facts, "engine",
           fmt::format("{}, {}, {} threads", told(metrics.engine, "device"),
                       told(metrics.engine, "library"),
                       threads.is_number() ? fmt::format("{:.0f}", threads.get<double>()) : "-"));
  if (const std::string note = told(metrics.engine, "note"); !note.empty())
    add_line(facts, "", note);
  add_line(facts, "step mean / p50 / p90",
           three(timing.mean, timing.p50, timing.p90, "{:.2f}", 1e3) + " ms");
  if (timing.run_p50 && timing.run_p50->size() > 1)
    add_line(facts, "",
             fmt::format("of run {} of {}, the one with the best median",
                         timing.kept_run.value_or(0) + 1, timing.run_p50->size()));
  const std::string unit = gate::judged_rate(metrics).unit;  // what the user counts, "samples/s"
  const std::string counted = unit.substr(0, unit.find('/')) + " mean / p50 / p10";
  add_line(facts, counted.c_str(),
           three(rate.tokens_mean, rate.tokens_p50, rate.tokens_p10, "{:.0f}", 1) + " per s");
  const auto add = [&](const char* title, const TrainingMetrics::Figure& figure, const char* format,
                       double scale, const std::string& behind = "") {
    const std::string value = absent.cell(title, figure, format, scale);
    if (figure.value) add_line(facts, title, value + behind);
  };
  if (metrics.memory.driver_peak_bytes.value)
    add_line(facts, "memory by the driver",
             shown(metrics.memory.driver_peak_bytes, "{:.1f} GB", 1 / kGib) +
                 ", without the CUDA context");
  add_flop_facts(facts, metrics.mfu);
  add("MFU p50", metrics.mfu.p50, "{:.1f} %", 100, model_flop_words(metrics.mfu));
  if (metrics.mfu.executed_p50.value)
    add_line(facts, "executed FLOP of the peak",
             fmt::format("{:.1f} %", *metrics.mfu.executed_p50.value * 100));
  if (metrics.mfu.six_nd_p50.value && metrics.mfu.estimator != "6ND")
    add_line(facts, "MFU p50 by 6ND", fmt::format("{:.1f} %", *metrics.mfu.six_nd_p50.value * 100));
  const std::string slope =
      metrics.loss.slope.value ? ", " + shown(metrics.loss.slope, "{:+.2g}") : std::string();
  add(slope.empty() ? "loss" : "loss, slope per step", metrics.loss.last, "{:.4f}", 1, slope);
  add("spread of step times", metrics.step_time_cv, "{:.1f} %", 100);
  add("compute utilization", metrics.compute_use, "{:.0f} %", 100);
  const auto known = [](const TrainingMetrics::Figure& figure) {  // files of earlier versions
    return figure.value || figure.reason != results::kMissingKey;
  };
  if (known(metrics.cpu_use)) add("CPU of all cores", metrics.cpu_use, "{:.0f} %", 100);
  if (known(metrics.clock) && metrics.power_w.value && metrics.held_by_power.value)
    add("GPU clock", metrics.clock_mhz, "{:.0f} MHz", 1,
        fmt::format(" ({:.0f} % of its highest; at {:.0f} of {:.0f} W, which hold it down {:.0f} % "
                    "of the time)",
                    *metrics.clock.value * 100, *metrics.power_w.value,
                    metrics.power_limit_w.value.value_or(0), *metrics.held_by_power.value * 100));
  const auto& label = metrics.memory_bandwidth_label;
  add("memory bandwidth", metrics.memory_bandwidth_use, "{:.0f} %", 100,
      label ? " (" + printable(*label) + ")" : "");
  if (known(metrics.memory_rate_estimate))
    add("memory traffic", metrics.memory_rate_estimate, "{:.1f} GB/s", 1e-9,
        " (estimate: every tensor of an op moved once)");
  if (metrics.cloud) add_cloud(facts, *metrics.cloud, absent);
  add("first step after", metrics.first_step_s, "{:.2f} s", 1);
  return facts;
}

std::string phases_text(const TrainingMetrics& metrics) {
  if (!metrics.phases.value || !(metrics.phases.value->natural_step_s > 0)) return "";
  const TrainingMetrics::Phases& phases = *metrics.phases.value;
  std::string out = fmt::format("\n{:<16} {:>10} {:>9}\n", "phase", "ms/step", "of step");
  const auto row = [&](const std::string& name, double seconds, const char* remark = "") {
    out += fmt::format("{:<16} {:>10.3f} {:>7.1f} %{}\n", name, seconds * 1e3,
                       seconds / phases.natural_step_s * 100, remark);
  };
  for (const auto& [name, seconds] : phases.per_step)
    row(printable(name), seconds);
  row("residual", phases.residual_s, phases.reconciled ? "" : "  unreconciled");
  row("natural step", phases.natural_step_s);
  return out;
}

/// "  executes 94.8 % of the model's FLOP"; nothing where either is not known.
std::string executed_words(const results::TrainingLibrary& one) {
  if (!one.executed_flop || one.model_flop.value_or(0) <= 0) return "";
  return fmt::format("  executes {:.1f} % of the model's FLOP",
                     *one.executed_flop / *one.model_flop * 100);
}

/// "  first step after 41 s"; nothing where a library does not say.
std::string start_words(const results::TrainingLibrary& one) {
  const Json& seconds = at(one.engine, "first_step_s");
  return seconds.is_number() ? fmt::format("  first step after {:.0f} s", seconds.get<double>())
                             : "";
}

std::string training_libraries(const results::TrainingSummary& summary,
                               const std::vector<results::PeerRatio>& ratios) {
  const auto& list = summary.libraries;
  if (list.empty() || (list.size() == 1 && list[0].library == "sluice")) return "";
  std::string out = "\n";
  std::size_t wide = 40;
  for (const results::TrainingLibrary& one : list)
    wide = std::max(wide, one.case_name.size());
  for (const results::TrainingLibrary& one : list) {
    std::string found = figure_cell(one.samples_per_s, "{:.1f} samples/s", 1, "");
    const bool good = one.status == "ok";
    if (found.empty() || !good) found = printable(one.status) + ": " + printable(one.reason);
    out += fmt::format(
        "{:<{}} {:<18} {:>18}{}{}{}{}\n", printable(one.case_name), wide, printable(one.library),
        found, peer_ratio_text(ratios, one.case_name, one.library), good ? executed_words(one) : "",
        good ? start_words(one) : "", good && one.anchor ? "  " + printable(one.anchor->text) : "");
  }
  return out;
}

bool has_ours(const results::TrainingSummary& summary) {
  return std::ranges::any_of(summary.libraries, [](const results::TrainingLibrary& one) {
    return one.library == "sluice";
  });
}

/// Of a file without metrics: rows that were broken off have runs all the same.
const char* nothing_words(const results::ResultFile& file) {
  const bool kept =
      std::ranges::any_of(file.rows, [](const measure::Row& row) { return !row.runs.empty(); });
  return kept ? "no row was measured to its end; what there is of them is kept"
              : "nothing was measured";
}

std::string estimates_text(const results::BatchEstimates& estimates) {
  constexpr double kMib = 1024.0 * 1024;
  std::string out;
  if (const auto& most = estimates.most.value)
    out +=
        fmt::format("largest batch that should fit: {}{} ({:.1f} MiB and {:.2f} MiB per sample)\n",
                    most->batch, most->capped ? ", four times the largest tried" : "",
                    most->fixed_bytes / kMib, most->bytes_per_sample / kMib);
  if (const auto& best = estimates.best.value)
    out += fmt::format(
        "best batch: {}, the smallest within 2 % of the best rate ({:.1f} % of that of {}){}\n",
        best->batch, best->of_best * 100, best->fastest,
        best->compute_use ? fmt::format(", GPU busy {:.0f} %", *best->compute_use * 100) : "");
  if (const auto& critical = estimates.critical.value)
    out += fmt::format("larger batches pay up to about {}{}\n", critical->batch,
                       critical->exceeds_tested ? ", the largest tried" : "");
  return out;
}

/// Of a row of a table with several ranks.
std::string rate_cells(const results::TrainingSweepLine& one) {
  return fmt::format("{:>9} {:>10} {:>6} ", figure_cell(one.steps_per_s, "{:.2f}"),
                     figure_cell(one.tokens_per_s, "{:.0f}"),
                     figure_cell(one.mfu_p50.value, "{:.1f}", 100));
}

std::string training_sweep(const results::TrainingSummary& summary) {
  if (summary.sweep.empty()) return "";
  std::size_t wide = 20;
  for (const results::TrainingSweepLine& one : summary.sweep)
    wide = std::max(wide, settings_of(one).size());
  const bool ranks = std::ranges::any_of(summary.sweep, [](const results::TrainingSweepLine& one) {
    return one.steps_per_s.has_value();
  });
  std::string out =
      fmt::format("\n{:>6} {:<{}} {:>10} {}{:>10} {:>9} {:>9} {:>9} {:>9} {:>8} {:>5} {:>5}\n",
                  "batch", "dtype", wide, "samples/s", ranks ? "     it/s   tokens/s  MFU % " : "",
                  "step ms", "data ms", "fwd ms", "bwd ms", "MiB", "loss", "GPU %", "CPU %");
  for (const results::TrainingSweepLine& one : summary.sweep) {
    const auto phase = [&](const char* wanted) {
      for (const auto& [name, ms] : one.phases_ms)
        if (name == wanted) return figure_cell(ms, "{:.2f}");
      return std::string("-");
    };
    out += fmt::format("{:>6} {:<{}} ", one.batch, settings_of(one), wide);
    if (!one.samples_per_s.value) {
      out += printable(one.samples_per_s.reason) + "\n";
      continue;
    }
    out += fmt::format("{:>10.1f} {}{:>10.2f} {:>9} {:>9} {:>9} {:>9} {:>8} {:>5} {:>5}{}\n",
                       *one.samples_per_s.value, ranks ? rate_cells(one) : "", one.step_ms,
                       phase("data"), phase("forward"), phase("backward"),
                       figure_cell(one.peak_bytes, "{:.0f}", 1.0 / (1024 * 1024)),
                       figure_cell(one.loss, "{:.4f}"), figure_cell(one.compute_use, "{:.0f}", 100),
                       figure_cell(one.cpu_use, "{:.0f}", 100), one.best ? "  ← best" : "");
  }
  return summary.estimates ? out + estimates_text(*summary.estimates) : out;
}

/// "rank 1 on host 3f2a9c1b"
std::string rank_name(std::int64_t rank, const std::optional<std::string>& host) {
  return fmt::format("rank {}{}", rank, host ? " on host " + printable(*host) : "");
}

/// Of all ranks; empty where the file is older than they are.
std::string world_rates_text(const results::WorldScaling& scaling) {
  if (!scaling.steps_per_s) return "";
  std::string out = fmt::format("  {:.2f} it/s", *scaling.steps_per_s);
  if (scaling.tokens_per_s) out += fmt::format(", {:.0f} tokens/s", *scaling.tokens_per_s);
  if (scaling.mfu_p50.value)
    out += fmt::format(", MFU p50 {:.1f} % (FLOP of the model, {})", *scaling.mfu_p50.value * 100,
                       printable(scaling.mfu_estimator));
  else if (scaling.mfu_p50.reason != results::kMissingKey)
    out += ", MFU n/a: " + printable(scaling.mfu_p50.reason);
  return out + "\n";
}

std::string waits_text(const results::WorldScaling& scaling) {
  std::string out;
  for (const results::RankWait& wait : scaling.waits)
    out += fmt::format("  {} waits {:.2f} ms for the others, p99 {:.2f}\n",
                       rank_name(wait.rank, wait.host), wait.p50_ms, wait.p99_ms);
  if (const auto& slowest = scaling.slowest)
    out += fmt::format(
        "  slowest: {}; the others wait {:.2f} ms for it, p99 {:.2f}, and it comes last in {:.0f} "
        "% of the steps\n",
        rank_name(slowest->rank, slowest->host), slowest->waited_for_p50_ms,
        slowest->waited_for_p99_ms, slowest->last_share * 100);
  return out;
}

std::string scaling_text(const results::WorldScaling& scaling) {
  const auto& runs = scaling.efficiency_of_runs;
  std::string out = fmt::format(
      "\n{} rank{} by {}: {:.1f} samples/s beside {:.1f} of one rank\n"
      "{}  scaling efficiency {:.1f} %{}\n"
      "  gradients {:.1f} MB, {:.2f} ms from the first piece to the end of the last{}\n"
      "  {:.0f} % of that span is hidden behind backward; exposed {:.2f} ms, {:.1f} % of the "
      "step\n",
      scaling.world_size, scaling.world_size > 1 ? "s" : "", printable(scaling.library),
      scaling.samples_per_s, scaling.alone_samples_per_s, world_rates_text(scaling),
      scaling.efficiency * 100,
      runs ? fmt::format(", of runs in pairs {:.1f} [{:.1f}, {:.1f}] %", runs->point * 100,
                         runs->low * 100, runs->high * 100)
           : "",
      scaling.bytes * 1e-6, scaling.in_flight_ms,
      scaling.world_size > 1
          ? fmt::format(", {:.2f} GB/s of the bus over that span", scaling.bus_bytes_per_s * 1e-9)
          : "",
      scaling.hidden_share * 100, scaling.exposed_ms, scaling.exposed_share * 100);
  return out + waits_text(scaling);
}

std::string peer_scaling_text(const std::vector<results::PeerScaling>& list) {
  std::string out;
  for (const results::PeerScaling& one : list) {
    const auto& runs = one.efficiency_of_runs;
    out += fmt::format(
        "\n{} ranks of {}: {:.1f} samples/s beside {:.1f} of one, scaling efficiency {:.1f} %{}\n",
        one.world_size, printable(one.library), one.samples_per_s, one.alone_samples_per_s,
        one.efficiency * 100,
        runs ? fmt::format(", of runs in pairs {:.1f} [{:.1f}, {:.1f}] %", runs->point * 100,
                           runs->low * 100, runs->high * 100)
             : "");
  }
  return out;
}

std::string amp_text(const TrainingMetrics::Amp& amp) {
  if (!amp.speedup) return "";
  const stats::Estimate& speedup = *amp.speedup;
  const std::string interval =
      speedup.confidence > 0 ? fmt::format(" [{:.2f}, {:.2f}]", speedup.low, speedup.high) : "";
  return fmt::format(
      "\nMixed precision over fp32: {:.2f}{} x as fast, {:.0f} % less memory, loss {:+.2g} after "
      "the same steps\n",
      speedup.point, interval, amp.memory_saving.value_or(NAN) * 100,
      amp.loss_difference.value_or(NAN));
}

std::string advice(const std::vector<std::string>& list) {
  std::string out = list.empty() ? "" : "\nRecommendations\n";
  for (const std::string& one : list)
    out += "  - " + printable(one) + "\n";
  return out;
}

}  // namespace

std::string settings_of(const results::TrainingSweepLine& line) {
  return printable(line.dtype) + (line.compile ? " " + printable(*line.compile) : "") +
         (line.last_block ? " " + printable(*line.last_block) : "") +
         (line.storage ? " " + printable(*line.storage) : "") +
         (line.world_size
              ? fmt::format(" {} rank{}", *line.world_size, *line.world_size > 1 ? "s" : "")
              : "");
}

bool is_training_file(const results::ResultFile& file) {
  return file.training && file.training->timing.p50.value;
}

std::vector<Fact> training_facts(const results::ResultFile& file) {
  if (!is_training_file(file)) return {};
  Unavailable absent;
  std::vector<Fact> facts = training_block(*file.training, absent);
  for (Fact& fact : training_figures(*file.training, absent))
    facts.push_back(std::move(fact));
  if (const std::string amp = amp_text(file.training->amp); !amp.empty())
    facts.push_back({"", std::string(trimmed(amp))});
  const results::TrainingSummary summary =
      file.training_summary.value_or(results::TrainingSummary{});
  if (summary.estimates)
    for (const std::string& line : split(trimmed(estimates_text(*summary.estimates)), '\n'))
      facts.push_back({"batch", line});
  if (summary.scaling)
    for (const std::string& line : split(trimmed(scaling_text(*summary.scaling)), '\n'))
      facts.push_back({"ranks", std::string(trimmed(line))});
  for (const std::string& line : split(trimmed(peer_scaling_text(summary.peer_scaling)), '\n'))
    if (!line.empty()) facts.push_back({"ranks", line});
  for (const std::string& line : split(trimmed(packing_text(file.run_config)), '\n'))
    if (!line.empty()) facts.push_back({"bundles", std::string(trimmed(line))});
  for (const std::string& trace : summary.profile)
    facts.push_back({"trace", printable(trace)});
  if (summary.epoch)
    facts.push_back({"full epoch", fmt::format("{} samples: {:.1f} s", summary.epoch->samples,
                                               summary.epoch->seconds.point)});
  if (std::string missing = absent.text(); !missing.empty()) facts.push_back({"", missing});
  return facts;
}

std::string training_text(const results::ResultFile& file) {
  const results::TrainingSummary summary =
      file.training_summary.value_or(results::TrainingSummary{});
  std::string out;
  Unavailable absent;
  if (is_training_file(file)) {
    out = "Training Benchmark Results:\n===========================\n";
    for (const Fact& fact : training_block(*file.training, absent))
      out += fmt::format("{}: {}\n", fact.name, fact.value);
    out += "\n";
    for (const Fact& fact : training_figures(*file.training, absent))
      out += fmt::format("  {} {}\n", padded(fact.name, 30, false), fact.value);
    out += absent.text();  // what both found missing: after them, not in one expression with them
    out += phases_text(*file.training);
  } else {
    out = fmt::format("Training Benchmark Results:\n===========================\n{}\n",
                      !has_ours(summary) ? "our engine was not asked for" : nothing_words(file));
  }
  out += training_libraries(summary, file.peer_ratios);
  out += training_sweep(summary);
  if (const std::string packing = packing_text(file.run_config); !packing.empty())
    out += "\nBundles\n" + packing;
  if (summary.scaling) out += scaling_text(*summary.scaling);
  out += peer_scaling_text(summary.peer_scaling);
  if (file.training) out += amp_text(file.training->amp);
  out += checks_text(summary.targets, "Targets");
  out += checks_text(summary.indicators, "Indicators");
  out += advice(summary.recommendations);
  for (const std::string& trace : summary.profile)
    out += "trace: " + printable(trace) + "\n";
  if (summary.epoch)
    out += fmt::format("full epoch of {} samples: {:.1f} s\n", summary.epoch->samples,
                       summary.epoch->seconds.point);
  return out;
}

std::string feed_words(const results::ResultFile& file) {
  if (!file.training || string_at(file.training->data, "source") != "loader") return "";
  std::string words = "loader";
  if (const Json& workers = at(file.run_config, "num_workers"); workers.is_number_integer())
    words += fmt::format(", {} workers", workers.get<std::int64_t>());
  if (const std::string storage = told(file.run_config, "storage"); !storage.empty())
    words += ", " + storage;
  const Json& lanes = at(file.training->data, "lanes");
  if (!lanes.is_object()) return words + ", the CPU decodes";
  const Json& by_cpu = at(lanes, "cpu");
  const bool both = by_cpu.is_number() && by_cpu.get<double>() > 0;
  return words + (both ? ", GPU and CPU decode" : ", the GPU decodes");
}

std::string training_markdown(const results::ResultFile& file) {
  const TrainingMetrics metrics = file.training.value_or(TrainingMetrics{});
  const TrainingMetrics::Config& config = metrics.config;
  const auto entry = [](const std::string& name, const std::string& value) {
    return fmt::format("- {}: {}\n", name, escape_markdown(value));
  };
  std::string out = "# Performance Benchmark Report\n\n## Configuration\n\n";
  out += entry("GPU", on_gpu(metrics) ? told(metrics.engine, "device") : "none");
  out += entry("Model", printable(config.model));
  out += entry("Batch Size", count_cell(config.per_device_batch_size));
  const std::string fed = feed_words(file);
  out += entry("Data", fed.empty() ? told(metrics.data, "source") : fed);
  if (const Json& workers = at(file.run_config, "num_workers"); workers.is_number_integer())
    out += entry("Workers", std::to_string(workers.get<std::int64_t>()));
  if (file.dataset.count > 0)
    out += entry("Dataset", fmt::format("{} samples", file.dataset.count));
  if (const std::string mixing = mixing_of(config); !mixing.empty()) out += entry("Mixing", mixing);
  out += "\n## Results\n\n";
  out += entry("Training", figure_cell(metrics.throughput.samples_p50.value, "{:.0f} samples/sec"));
  out += entry("GPU Utilization", shown(metrics.compute_use, "{:.0f}%", 100));
  out += entry("Memory", memory_cell(metrics.memory));
  out += "\n## Optimizations Applied\n\n";
  for (const std::string& one : optimisations_of(file))
    out += "- " + escape_markdown(one) + "\n";
  out += "\n## Improvements vs Baseline\n\n";
  const std::string gains = ratios_markdown(file.peer_ratios, "training");
  out += !gains.empty() ? gains
                        : "- n/a: nothing was measured beside it (`--libraries`, `--repeat 3`); "
                          "`sluice report --baseline RUN` compares with an earlier run\n";
  return out + "\n## Details\n\n" + fenced(training_text(file)) + "\n";
}

}  // namespace sluice::report
