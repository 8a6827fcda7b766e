// sluice/report/mixture/study_log.cpp - run_log.md of a study: runs as measured, settings with
// intervals.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/mixture/study_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

using analysis::MixtureKnob;
using analysis::MixtureStudyRun;

std::string labels_of(const std::vector<std::string>& labels) {
  std::vector<std::string> shown;
  for (const std::string& label : labels)
    shown.push_back(escape_markdown(printable(label)));
  return join(shown);
}

std::string run_line(const MixtureStudyRun& run) {
  const auto& knobs = run.knobs;
  std::string out = fmt::format(
      "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |", escape_markdown(run.date),
      escape_markdown(run.id), labels_of(run.labels), knobs.cpus,
      knobs.metadata == "off" ? "false" : "true", escape_markdown(knobs.metadata), knobs.warmup,
      knobs.steps, analysis::value_of(knobs, MixtureKnob::read),
      analysis::value_of(knobs, MixtureKnob::mix),
      analysis::value_of(knobs, MixtureKnob::samples_per_episode), run.seed);
  if (run.failure.empty())
    out += fmt::format(" {:.3f} | {:.3f} | {:.4f} | {:.4f} | {:.4f} | {:.2f} | {:.3f} |",
                       run.batches_per_s, run.samples_per_s, run.p50_s, run.p90_s, run.p99_s,
                       run.start_s, run.teardown_s);
  else
    out += " – | – | – | – | – | – | – |";
  return out + fmt::format(" {} |\n", escape_markdown(analysis::note_of(run)));
}

std::string run_table(const std::vector<const MixtureStudyRun*>& runs) {
  std::string out =
      "| Date | Run | Label | CPUs | Metadata | Metadata mode | Warmup | Steps | Decode/Interleave "
      "| Mix block/queue | Samples per episode | Seed | batches/s | samples/s | p50 (s) | p90 (s) "
      "| p99 (s) | start (s) | teardown (s) | Notes |\n"
      "|---|---|---|---:|---|---|---:|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---"
      "|"
      "\n";
  for (const MixtureStudyRun* run : runs)
    out += run_line(*run);
  return out;
}

std::string setting_table(const analysis::StudyVerdict& verdict) {
  std::string out =
      "| Label | CPUs | Metadata mode | Decode/Interleave | Mix block/queue | Samples per episode "
      "| "
      "Steps | Runs | samples/s | 95 % interval |\n"
      "|---|---:|---|---|---|---:|---:|---:|---:|---|\n";
  for (const analysis::StudySetting& one : verdict.settings) {
    const auto& knobs = one.knobs;
    out += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} | {} |\n", labels_of(one.labels),
        knobs.cpus, escape_markdown(knobs.metadata), analysis::value_of(knobs, MixtureKnob::read),
        analysis::value_of(knobs, MixtureKnob::mix),
        analysis::value_of(knobs, MixtureKnob::samples_per_episode), knobs.steps, one.runs,
        one.rate.point,
        one.has_interval ? fmt::format("{:.1f} to {:.1f}", one.rate.low, one.rate.high)
                         : std::string("none: one run of each says nothing of their spread"));
  }
  return out;
}

}  // namespace

std::string study_remarks(const StudyFacts& facts, const std::string& machine) {
  const auto found = facts.remarks.find(machine);
  if (found == facts.remarks.end() || found->second.empty()) return "";
  std::string out;
  for (const std::string& remark : found->second)
    out += "- " + escape_markdown(remark) + "\n";
  return out;
}

std::string study_run_log(const StudyFacts& facts, const std::vector<MixtureStudyRun>& runs,
                          const std::vector<analysis::StudyVerdict>& verdicts) {
  std::string out = fmt::format(
      "# Run log of the study {}\n\nPreset {}, batches of {}, {} repeat{}; within a "
      "repeat every setting runs once, in random order, each in a process of its own.\n",
      escape_markdown(facts.name), escape_markdown(facts.preset), facts.batch_size, facts.repeats,
      facts.repeats == 1 ? "" : "s");
  if (runs.size() < facts.planned)
    out += fmt::format("\n**{} of {} runs: the study is not finished.**\n", runs.size(),
                       facts.planned);
  for (const analysis::StudyVerdict& verdict : verdicts) {
    std::vector<const MixtureStudyRun*> own;
    for (const MixtureStudyRun& run : runs)
      if (machine_of(run) == verdict.machine) own.push_back(&run);
    out += fmt::format("\n## Machine {}\n\n", escape_markdown(printable(verdict.machine)));
    const std::string remarks = study_remarks(facts, verdict.machine);
    out += remarks + (remarks.empty() ? "" : "\n") + run_table(own);
    out += fmt::format(
        "\nshort: warm-up below {} or fewer than {} batches. overlapped: others took more than "
        "{:.0f} % of the cores' time.\n",
        analysis::kShortWarmup, analysis::kShortSteps, 100 * analysis::kOverlap);
    out += "\n### Settings, fastest first\n\n" + setting_table(verdict);
    if (verdict.spread)
      out += fmt::format(
          "\nA run is off by {:.1f} % (relative standard deviation over all settings, the effect "
          "of repeats taken out, {:.0f} degrees of freedom).\n",
          100 * *verdict.spread, verdict.degrees);
  }
  return out;
}

}  // namespace sluice::report
