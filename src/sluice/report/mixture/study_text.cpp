// sluice/report/mixture/study_text.cpp - recommendation.md of a study: only what intervals support.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/mixture/study_text.h"

#include "sluice/core/text.h"
#include "sluice/report/markdown_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

using analysis::MixtureKnob;
using analysis::StudyContrast;
using analysis::StudyOutcome;
using analysis::StudySetting;
using analysis::StudyVerdict;

constexpr std::int64_t kMostRuns = 9'999;

std::string more(std::int64_t runs) {
  return runs >= kMostRuns ? fmt::format("more than {} more runs", kMostRuns)
                           : fmt::format("{} more run{}", runs, runs == 1 ? "" : "s");
}

std::string rate(const StudySetting& one) {
  return one.has_interval ? fmt::format("{:.1f} samples/s ({:.1f} to {:.1f})", one.rate.point,
                                        one.rate.low, one.rate.high)
                          : fmt::format("{:.1f} samples/s in one run", one.rate.point);
}

/// "+9.0 % (+5.1 to +13.1 %)".
std::string change(const StudyContrast& contrast) {
  const auto percent = [](double ratio) { return 100 * (ratio - 1); };
  if (!contrast.has_interval) return fmt::format("{:+.1f} %", percent(contrast.ratio.point));
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f} %)", percent(contrast.ratio.point),
                     percent(contrast.ratio.low), percent(contrast.ratio.high));
}

/// "read 8/8 instead of 4/4": and at what else, where that is not the base.
std::string what(const StudyVerdict& verdict, const StudyContrast& contrast) {
  const auto& knobs = verdict.settings[contrast.setting].knobs;
  const auto& reference = verdict.settings[contrast.reference].knobs;
  std::string out = fmt::format("{} {} instead of {}", to_string(contrast.knob),
                                analysis::value_of(knobs, contrast.knob),
                                analysis::value_of(reference, contrast.knob));
  std::vector<std::string> elsewhere;
  for (const MixtureKnob knob : analysis::kMixtureKnobs)
    if (knob != contrast.knob &&
        analysis::value_of(knobs, knob) != analysis::value_of(verdict.base, knob))
      elsewhere.push_back(fmt::format("{} {}", to_string(knob), analysis::value_of(knobs, knob)));
  if (!elsewhere.empty()) out += " at " + join(elsewhere);
  return escape_markdown(out) + fmt::format(" ({} batches)", knobs.steps);
}

std::string choice(const StudyVerdict& verdict, const analysis::StudyChoice& found) {
  if (found.settings.empty()) return "- Nothing was measured.\n";
  const StudySetting& best = verdict.settings[found.settings.front()];
  const auto line = [](const StudySetting& one) {
    return fmt::format("{}: {}", escape_markdown(analysis::describe(one.knobs)), rate(one));
  };
  if (found.considered == 1) return "- The only one measured: " + line(best) + ".\n";
  if (found.decided)
    return fmt::format("- Use {}. It is faster than {}.\n", line(best),
                       found.considered == 2
                           ? std::string("the other one measured")
                           : fmt::format("each of the {} others", found.considered - 1));
  std::string out = fmt::format(
      "- undecided: needs {} of each to tell the best apart. {} of {} settings cannot "
      "be told from the fastest seen:\n",
      more(found.more_runs), found.settings.size(), found.considered);
  const bool base = std::any_of(found.settings.begin(), found.settings.end(), [&](std::size_t i) {
    return same_knobs(verdict.settings[i].knobs, verdict.base);
  });
  for (const std::size_t i : found.settings)
    out += "  - " + line(verdict.settings[i]) + "\n";
  if (base) out += "- The base of the study is among them: no reason to leave it was found.\n";
  return out;
}

/// What dataset_only or off brings over full, at matched settings.
std::string metadata(const StudyVerdict& verdict) {
  std::string out;
  for (const StudyContrast& contrast : verdict.contrasts) {
    if (contrast.knob != MixtureKnob::metadata) continue;
    out += fmt::format("- {}: {}: ", what(verdict, contrast), change(contrast));
    switch (contrast.outcome) {
      case StudyOutcome::faster:
        out += "full metadata costs time";
        break;
      case StudyOutcome::slower:
        out += "full metadata is the faster one";
        break;
      case StudyOutcome::same:
        out += "full metadata costs nothing that matters";
        break;
      case StudyOutcome::undecided:
        out += "undecided: needs " + more(contrast.more_runs) + " of each";
        break;
    }
    out += ".\n";
  }
  return out.empty() ? "- Not measured at matched settings.\n" : out;
}

std::string avoid(const StudyVerdict& verdict, const analysis::StudyRule& rule) {
  std::string out;
  for (const StudyContrast& contrast : verdict.contrasts) {
    if (contrast.outcome != StudyOutcome::slower || contrast.knob == MixtureKnob::metadata ||
        contrast.ratio.point > 1 - rule.margin)
      continue;
    out += fmt::format("- {}: {}.\n", what(verdict, contrast), change(contrast));
  }
  return out.empty() ? "- Nothing: no setting was shown to be slower.\n" : out;
}

std::string others(const StudyVerdict& verdict, const analysis::StudyRule& rule) {
  std::string known;
  std::string open;
  for (const StudyContrast& contrast : verdict.contrasts) {
    if (contrast.knob == MixtureKnob::metadata) continue;
    const std::string line = fmt::format("- {}: {}", what(verdict, contrast), change(contrast));
    if (contrast.outcome == StudyOutcome::faster)
      known += line + ": faster.\n";
    else if (contrast.outcome == StudyOutcome::same)
      known += fmt::format("{}: the same within {:.0f} %.\n", line, 100 * rule.margin);
    else if (contrast.outcome == StudyOutcome::slower && contrast.ratio.point > 1 - rule.margin)
      known += fmt::format("{}: slower, by less than {:.0f} %.\n", line, 100 * rule.margin);
    else if (contrast.outcome == StudyOutcome::undecided)
      open += fmt::format("{}: undecided: needs {} of each.\n", line, more(contrast.more_runs));
  }
  std::string out;
  if (!known.empty()) out += "\n### Also known\n\n" + known;
  if (!open.empty()) out += "\n### Undecided\n\n" + open;
  return out;
}

std::string sustained(const StudyFacts& facts, const StudyVerdict& verdict) {
  std::string out;
  if (verdict.sustained) {
    const StudySetting& one = verdict.settings[*verdict.sustained];
    out = fmt::format("- Sustained over {} batches with full metadata: {}", one.knobs.steps,
                      rate(one));
    if (facts.target_samples_per_s) {
      const double target = *facts.target_samples_per_s;
      const char* side = !one.has_interval        ? "one run does not say whether it is reached"
                         : one.rate.low >= target ? "reached"
                         : one.rate.high < target ? "not reached"
                                                  : "within the interval";
      out += fmt::format("; the target of {:g} is {}", target, side);
    }
    out += ".\n";
  } else {
    out = fmt::format(
        "- No run of {} batches or more with full metadata: what a long run sustains "
        "is not known.\n",
        analysis::kLongSteps);
  }
  return out;
}

std::string caveats(const StudyVerdict& verdict) {
  std::string out;
  if (verdict.short_runs > 0)
    out += fmt::format(
        "- {} of {} runs are short (warm-up below {} or fewer than {} batches): first batches and "
        "first-seen data sets weigh in them. Decide on runs of about {}.\n",
        verdict.short_runs, verdict.runs, analysis::kShortWarmup, analysis::kShortSteps,
        analysis::kLongSteps);
  if (verdict.disturbed > 0)
    out += fmt::format(
        "- {} of {} runs were overlapped by other work or throttled; {}.\n", verdict.disturbed,
        verdict.runs,
        verdict.disturbed_left_out
            ? "they do not count here"
            : "they count, because too few others remain: repeat the study on a quiet machine");
  if (verdict.failed > 0)
    out +=
        fmt::format("- {} of {} runs failed; run_log.md says why.\n", verdict.failed, verdict.runs);
  if (!verdict.spread)
    out += "- One run of each setting has no spread, so no interval and no claim.\n";
  return out;
}

}  // namespace

std::string study_recommendation(const StudyFacts& facts, const std::vector<StudyVerdict>& verdicts,
                                 const analysis::StudyRule& rule) {
  std::string out = fmt::format(
      "# What the study {} supports\n\nEvery claim below holds with {:.0f} % confidence for all "
      "comparisons of its knob together; differences below {:.0f} % do not count. Numbers are "
      "samples per second with their interval. All runs: run_log.md; raw numbers: study.json.\n",
      escape_markdown(facts.name), 100 * rule.confidence, 100 * rule.margin);
  if (verdicts.empty()) out += "\nNo run was finished.\n";
  for (const StudyVerdict& verdict : verdicts) {
    out += fmt::format("\n## Machine {}\n", escape_markdown(printable(verdict.machine)));
    const std::string notes = study_remarks(facts, verdict.machine) + caveats(verdict);
    if (!notes.empty()) out += "\n" + notes;
    out += "\n### Full metadata\n\n" + choice(verdict, verdict.full_metadata) +
           sustained(facts, verdict);
    out += "\n### Pure throughput\n\n" + choice(verdict, verdict.throughput);
    out += "\n### Avoid\n\n" + avoid(verdict, rule);
    out += "\n### What metadata costs\n\n" + metadata(verdict);
    out += others(verdict, rule);
  }
  return out;
}

template <class T>
static std::string use_cell(const std::optional<analysis::MixtureRunUse>& use,
                            T analysis::MixtureRunUse::*member) {
  const std::optional<double> share = use ? std::optional<double>((*use).*member) : std::nullopt;
  return share ? fmt::format("{:.0f} %", 100 * *share) : "n/a";
}

std::string study_end_to_end(const std::vector<analysis::MixtureTrainedRun>& trained) {
  if (trained.empty()) return "";
  std::string out =
      "\n## End to end\n\nThe best settings once more, one run each, with a model that takes the "
      "batches. The loader keeps up where the model waits for nothing. "
      "CPU and GPU: mean share of all cores, and of the time in which a kernel ran.\n\n"
      "| machine | setting | model | device | samples/s | waits | step s | loss | CPU | GPU | "
      "notes "
      "|\n|---|---|---|---|---:|---:|---:|---|---:|---:|---|\n";
  for (const analysis::MixtureTrainedRun& one : trained) {
    const auto cell = [](const std::string& text) { return escape_markdown(printable(text)); };
    out += fmt::format("| {} | {} | {} | {} |", cell(machine_of(one.run)),
                       cell(analysis::describe(one.run.knobs)), cell(one.model), cell(one.device));
    out += one.run.failure.empty()
               ? fmt::format(" {:.1f} | {:.1f} % | {:.4f} | {:.3f} to {:.3f} |", one.trained_per_s,
                             100 * one.wait_fraction, one.step_s, one.first_loss, one.loss)
               : std::string(" | | | |");
    out += fmt::format(" {} | {} |", use_cell(one.run.use, &analysis::MixtureRunUse::cpu),
                       use_cell(one.run.use, &analysis::MixtureRunUse::gpu));
    out += fmt::format(" {} |\n", cell(analysis::note_of(one.run)));
  }
  return out;
}

}  // namespace sluice::report
