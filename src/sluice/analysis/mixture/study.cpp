// sluice/analysis/mixture/study.cpp - settings of a study in words and JSON, and what is wrong with
// a run.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/study.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace sluice::analysis {

const char* to_string(MixtureKnob knob) {
  switch (knob) {
    case MixtureKnob::metadata:
      return "metadata";
    case MixtureKnob::cpus:
      return "CPUs";
    case MixtureKnob::read:
      return "read";
    case MixtureKnob::mix:
      return "mix";
    case MixtureKnob::samples_per_episode:
      return "samples per episode";
  }
  return "";
}

const char* to_string(StudyOutcome outcome) {
  switch (outcome) {
    case StudyOutcome::faster:
      return "faster";
    case StudyOutcome::slower:
      return "slower";
    case StudyOutcome::same:
      return "same";
    case StudyOutcome::undecided:
      return "undecided";
  }
  return "";
}

std::string value_of(const MixtureKnobs& knobs, MixtureKnob knob) {
  switch (knob) {
    case MixtureKnob::metadata:
      return knobs.metadata;
    case MixtureKnob::cpus:
      return std::to_string(knobs.cpus);
    case MixtureKnob::read:
      return fmt::format("{}/{}", knobs.decode, knobs.interleave);
    case MixtureKnob::mix:
      return fmt::format("{}/{}", knobs.mix_block, knobs.queue);
    case MixtureKnob::samples_per_episode:
      return knobs.samples_per_episode == 0 ? "all" : std::to_string(knobs.samples_per_episode);
  }
  return "";
}

MixtureKnobs with(MixtureKnobs knobs, MixtureKnob knob, const MixtureKnobs& other) {
  switch (knob) {
    case MixtureKnob::metadata:
      knobs.metadata = other.metadata;
      break;
    case MixtureKnob::cpus:
      knobs.cpus = other.cpus;
      break;
    case MixtureKnob::read:
      knobs.decode = other.decode;
      knobs.interleave = other.interleave;
      break;
    case MixtureKnob::mix:
      knobs.mix_block = other.mix_block;
      knobs.queue = other.queue;
      break;
    case MixtureKnob::samples_per_episode:
      knobs.samples_per_episode = other.samples_per_episode;
      break;
  }
  return knobs;
}

bool same_knobs(const MixtureKnobs& a, const MixtureKnobs& b) {
  return std::all_of(std::begin(kMixtureKnobs), std::end(kMixtureKnobs),
                     [&](MixtureKnob knob) { return value_of(a, knob) == value_of(b, knob); });
}

std::string describe(const MixtureKnobs& knobs) {
  return fmt::format("metadata {}, {} CPU{}, read {}, mix {}, {} sample{} per episode",
                     knobs.metadata, knobs.cpus, knobs.cpus == 1 ? "" : "s",
                     value_of(knobs, MixtureKnob::read), value_of(knobs, MixtureKnob::mix),
                     value_of(knobs, MixtureKnob::samples_per_episode),
                     knobs.samples_per_episode == 1 ? "" : "s");
}

bool is_short(const MixtureKnobs& knobs) {
  return knobs.warmup < kShortWarmup || knobs.steps < kShortSteps;
}

std::string machine_name(const std::string& profile, const std::string& host) {
  return host.empty() ? profile : fmt::format("{} host {}", profile, host);
}

std::string machine_of(const MixtureStudyRun& run) {
  return machine_name(run.machine, run.host);
}

bool is_disturbed(const MixtureStudyRun& run) {
  return run.throttled || (run.others && *run.others > kOverlap);
}

std::string note_of(const MixtureStudyRun& run) {
  std::vector<std::string> notes;
  if (!run.failure.empty()) notes.push_back("failed: " + printable(run.failure));
  if (run.failure.empty() && is_short(run.knobs)) notes.emplace_back("short");
  if (run.others && *run.others > kOverlap)
    notes.push_back(
        fmt::format("overlapped: others took {:.0f} % of the cores", 100 * *run.others));
  if (run.throttled) notes.emplace_back("throttled");
  return join(notes, "; ");
}

}  // namespace sluice::analysis
