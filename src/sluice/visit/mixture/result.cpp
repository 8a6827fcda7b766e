// sluice/visit/mixture/result.cpp - runs in, conclusions out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/mixture/result.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/report/mixture/text.h"
#include "sluice/results/run_folder.h"
#include "sluice/visit/mixture/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;
using loader::mixture::SourceStats;

double ms_per_sample(const scenario::MixtureRun& run, double cpu_s) {
  const double samples = static_cast<double>(run.batches) * run.batch_size;
  return samples > 0 ? 1e3 * cpu_s / samples : 0;
}

/// What a library does not count is left out.
std::vector<std::pair<std::string, double>> cpu_ms_of(const scenario::MixtureRun& run) {
  std::vector<std::pair<std::string, double>> list{{"process", ms_per_sample(run, run.cpu_s)}};
  for (std::size_t i = 0; i < run.stage_cpu_s.size(); ++i)
    if (run.stage_cpu_s[i] > 0)
      list.emplace_back(to_string(static_cast<loader::mixture::MixtureStage>(i)),
                        ms_per_sample(run, run.stage_cpu_s[i]));
  return list;
}

results::MixtureRunLine line_of(const MixtureTake& take,
                                const analysis::MixtureAnalysis& analysis) {
  return {.case_name = take.case_name,
          .library = take.library,
          .block = take.block,
          .batches_per_s = analysis.batches_per_s,
          .samples_per_s = analysis.samples_per_s,
          .mean_s = analysis.time.mean,
          .p50_s = analysis.time.p50,
          .p90_s = analysis.time.p90,
          .p99_s = analysis.time.p99,
          .max_s = analysis.time.max,
          .start_s = take.run.start_s,
          .teardown_s = take.run.teardown_s,
          .wait_fraction = take.run.wait_fraction(),
          .cpu_ms_per_sample = cpu_ms_of(take.run),
          .schedule_hash = take.run.stats.schedule_hash,
          .memory_growth = analysis.memory_growth};
}

/// CPU seconds by stage, with their shares of what the process used.
void put_stages(results::MixtureMetrics& metrics, const scenario::MixtureRun& run) {
  double sum = 0;
  for (std::size_t i = 0; i < run.stage_cpu_s.size(); ++i) {
    const double cpu_s = run.stage_cpu_s[i];
    sum += cpu_s;
    metrics.stages.push_back({to_string(static_cast<loader::mixture::MixtureStage>(i)), cpu_s,
                              run.cpu_s > 0 ? cpu_s / run.cpu_s : 0});
  }
  metrics.stage_sum_s = sum;
  metrics.process_s = run.cpu_s;
}

/// Data sets that were late, bad or gone, each in words.
std::vector<std::string> remarks_of(const MixtureTake& take) {
  std::vector<std::string> remarks;
  for (const SourceStats& source : take.run.stats.sources) {
    const std::string name = printable(source.name);
    if (source.starved > 0)
      remarks.push_back(fmt::format("{}: due and not ready {} times", name, source.starved));
    if (source.dropped) remarks.push_back(name + ": nothing usable in it; left out of the mix");
    if (source.too_short > 0)
      remarks.push_back(
          fmt::format("{}: {} episodes too short for a pair", name, source.too_short));
    if (source.bad_records + source.bad_images > 0)
      remarks.push_back(fmt::format("{}: {} bad records, {} bad images; the first: {}", name,
                                    source.bad_records, source.bad_images,
                                    printable(source.first_error)));
  }
  return remarks;
}

std::vector<results::StarvedSource> starved_of(const MixtureTake& take) {
  std::vector<results::StarvedSource> list;
  for (const SourceStats& source : take.run.stats.sources)
    if (source.starved > 0) list.push_back({source.name, source.starved});
  return list;
}

std::string short_words(const scenario::MixtureSpec& spec) {
  return fmt::format(
      "short run: {} batches of warm-up and {} measured; at least {} and {} are "
      "asked for before anything is concluded",
      spec.warmup, spec.steps, scenario::kFewestWarmup, scenario::kFewestSteps);
}

std::string settings(const MixturePlan& plan, const MixtureTake& take) {
  const loader::mixture::MixtureOptions& options = plan.spec.options;
  return fmt::format(
      "mixture of {}: {} data sets, batch {}, {} of an episode, metadata {}, mix {} in blocks of "
      "{}, "
      "queue {}, decode/read threads {}/{}, {} shards in turn, cores {}\n",
      loader::episodes::preset_label(plan.spec.preset), take.run.stats.sources.size(),
      options.batch_size,
      options.samples_per_episode == 0   ? "all pairs"
      : options.samples_per_episode == 1 ? "1 pair"
                                         : fmt::format("{} pairs", options.samples_per_episode),
      to_string(options.metadata), to_string(options.mix), options.mix_block, options.queue,
      options.decode_threads, options.read_threads, options.interleave,
      plan.spec.cpus.empty() ? "all" : measure::to_string(plan.spec.cpus));
}

/// One line per run: its speed, and the CPU time behind it.
class RunTable {
 public:
  void add(const MixtureTake& take, const analysis::MixtureAnalysis& analysis) {
    lines_ += fmt::format(
        "  {:<28} {:<8} {:>9.3f} {:>9.1f} {:>8.4f} {:>8.4f} {:>8.4f} {:>8.3f} {:>7.3f} {:>8.3f}",
        take.case_name, take.library, analysis.batches_per_s, analysis.samples_per_s,
        analysis.time.p50, analysis.time.p90, analysis.time.p99, take.run.start_s,
        take.run.teardown_s, ms_per_sample(take.run, take.run.cpu_s));
    for (const double cpu_s : take.run.stage_cpu_s)
      lines_ += cpu_s > 0 ? fmt::format(" {:>7.3f}", ms_per_sample(take.run, cpu_s))
                          : fmt::format(" {:>7}", "-");  // it does not count them
    lines_ += '\n';
  }
  [[nodiscard]] std::string text() const {
    std::string head = fmt::format(
        "\nAll runs (CPU in ms per sample)\n-------------------------------\n"
        "  {:<28} {:<8} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>7} {:>8}",
        "case", "library", "batches/s", "samples/s", "p50 s", "p90 s", "p99 s", "start s", "stop s",
        "CPU");
    for (std::size_t i = 0; i < loader::mixture::kStages; ++i)
      head += fmt::format(" {:>7}", to_string(static_cast<loader::mixture::MixtureStage>(i)));
    return head + "\n" + lines_;
  }

 private:
  std::string lines_;
};

std::string ratios_text(const std::vector<analysis::PeerRatio>& ratios) {
  std::string out;
  for (const analysis::PeerRatio& one : ratios)
    out += fmt::format("{}: {} is {:.2f} x {} (95 % interval {:.2f} to {:.2f}, {} pairs of runs)\n",
                       one.case_name, one.library, one.ratio.point, one.peer, one.ratio.low,
                       one.ratio.high, one.pairs);
  return out;
}

/// The metrics of the file, and the sections for a terminal.
std::string show(results::ResultFile& file, const MixturePlan& plan, const MixtureTake& take,
                 const analysis::MixtureAnalysis& analysis) {
  std::string text = settings(plan, take) + "\n" + report::mixture_text(analysis);
  results::MixtureMetrics& metrics = file.mixture.emplace(analysis::mixture_metrics(analysis));
  metrics.start_s = take.run.start_s;
  metrics.open_s = take.run.open_s;
  metrics.teardown_s = take.run.teardown_s;
  text += wait_text(plan.spec, take.run);
  add_wait(metrics, take.run);
  put_stages(metrics, take.run);
  metrics.schedule_hash = take.run.stats.schedule_hash;
  if (take.run.stats.samples > 0)  // what `deficit` keeps to, as a share
    metrics.shares.bound = static_cast<double>(plan.spec.options.mix_block) /
                           static_cast<double>(take.run.stats.samples);
  const std::vector<std::string> remarks = remarks_of(take);
  file.mixture_summary->starved = starved_of(take);
  file.mixture_summary->remarks = remarks;
  if (!remarks.empty()) text += "\nRemarks\n-------\n";
  for (const std::string& remark : remarks)
    text += "  " + remark + "\n";
  return text + fmt::format("\nschedule {}{}\n", take.run.stats.schedule_hash,
                            plan.spec.options.deterministic ? "" : " (depends on time)");
}

}  // namespace

const MixtureTake* shown_take(const std::vector<MixtureTake>& takes) {
  for (const MixtureTake& take : takes)
    if (take.library == "sluice" && !take.batches.empty()) return &take;
  return nullptr;
}

Result<std::string> conclude_mixture(results::ResultFile& file, const MixturePlan& plan,
                                     const std::vector<MixtureTake>& takes) {
  results::MixtureSummary& summary = file.mixture_summary.emplace();
  summary.short_run = is_short(plan.spec);
  std::string text;
  RunTable table;
  for (const MixtureTake& take : takes) {
    if (take.batches.empty()) continue;
    SLUICE_TRY(const auto analysis,
               analysis::analyse_mixture(take.batches, mixture_facts_of(take, plan.spec)));
    summary.runs.push_back(line_of(take, analysis));
    table.add(take, analysis);
    if (&take == shown_take(takes)) text = show(file, plan, take, analysis);
  }
  if (takes.size() > 1) text += table.text();
  file.peer_ratios = analysis::peer_ratios(file);
  text += ratios_text(file.peer_ratios);
  if (is_short(plan.spec)) {
    summary.statement = short_words(plan.spec);
    text += short_words(plan.spec) + "\n";
  }
  for (const measure::Row& row : file.rows)
    if (row.status != measure::RowStatus::ok)
      text += fmt::format("{} in {}: {}: {}\n", row.case_name, row.library,
                          measure::to_string(row.status), row.reason);
  return text;
}

std::string validation_text(const results::MixtureValidation& validation) {
  std::string text = fmt::format(
      "\nValidation, one pass with full metadata\n---------------------------------------\n"
      "  {} samples in {} batches, {:.1f} samples/s; {}\n"
      "  {:<34} {:<10} {:<14} {:>9} {:>6} {:>9} {:>6} {:>8} {:>11}\n",
      validation.samples, validation.batches,
      validation.time_s > 0 ? static_cast<double>(validation.samples) / validation.time_s : 0,
      validation.whole ? "every episode was seen" : "NOT every episode was seen", "data set",
      "type", "split", "episodes", "seen", "too short", "bad", "samples", "no language");
  for (const results::ValidationRow& row : validation.rows)
    text +=
        fmt::format("  {:<34} {:<10} {:<14} {:>9} {:>6} {:>9} {:>6} {:>8} {:>11}\n",
                    printable(row.name), printable(row.type), printable(row.split), row.episodes,
                    row.seen, row.too_short, row.bad, row.samples, row.without_language);
  return text;
}

Status place_batch_times(const fs::path& folder, const std::vector<MixtureTake>& takes,
                         std::vector<measure::Row>& rows) {
  for (const MixtureTake& take : takes) {
    if (take.run.batch_times.empty()) continue;
    const bool shown = &take == shown_take(takes);
    const fs::path to = shown
                            ? fs::path(results::kBatchTimesFile)
                            : fs::path("batch_times") /
                                  results::file_name_part(fmt::format(
                                      "{}-{}-{}.jsonl", take.case_name, take.library, take.block));
    SLUICE_CHECK(create_folders((folder / to).parent_path()));
    std::error_code problem;
    if (!fs::equivalent(take.run.batch_times, folder / to, problem))
      fs::rename(take.run.batch_times, folder / to, problem);
    if (problem)
      return Error{Errc::io,
                   fmt::format("{}: {}", printable((folder / to).string()), problem.message())};
    for (measure::Row& row : rows) {
      if (row.case_name != take.case_name || row.library != take.library) continue;
      for (measure::Run& run : row.runs)
        if (run.block == take.block && run.details.is_array() && !run.details.empty())
          run.details.front()["batch_times"] = to.string();
    }
  }
  return ok;
}

}  // namespace sluice::visit
