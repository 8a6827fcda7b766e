// sluice/gate/bisect/search.cpp - binary search with a risk that is spent step by step.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/bisect/search.h"

#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

/// What is left of alpha, spread evenly over the steps that are still to come.
double next_level(const BisectState& state) {
  const int steps = halvings(state.bad - state.good) + (state.border == 0 ? 1 : 0);
  return (state.options.alpha - state.spent) / std::max(1, steps);
}

void ask(BisectState& state, std::size_t revision) {
  BisectProbe probe;
  probe.revision = revision;
  probe.level = next_level(state);
  state.probes.push_back(std::move(probe));
}

/// After a verdict: the next question, or the end.
void go_on(BisectState& state) {
  if (state.bad - state.good == 1) {
    state.end = BisectEnd::found;
    return;
  }
  std::vector<std::size_t> passed_over;
  for (const BisectProbe& probe : state.probes)
    if (probe.verdict == ProbeVerdict::skipped || probe.verdict == ProbeVerdict::undecided)
      passed_over.push_back(probe.revision);
  const auto next = next_revision(state.good, state.bad, passed_over);
  if (next) {
    ask(state, *next);
  } else {
    state.end = BisectEnd::range;
  }
}

PairedOptions paired_options_of(const BisectOptions& options) {
  PairedOptions paired;
  paired.tau = options.tau;
  paired.floor = options.floor;
  paired.alpha = options.alpha;
  paired.draws = options.draws;
  paired.seed = options.seed;
  return paired;
}

Result<PairedEvidence> weigh_look(BisectProbe& probe, stats::Sample ratios,
                                  const BisectOptions& options) {
  const PairedLook& look = options.looks[probe.look];
  SLUICE_TRY(const PairedEvidence evidence,
             weigh(ratios, probe.level * look.alpha_share, 1, paired_options_of(options)));
  probe.pairs = evidence.pairs;
  probe.estimate = evidence.estimate;
  probe.low = evidence.low;
  probe.high = evidence.high;
  probe.sd = evidence.sd;
  probe.mde = evidence.mde;
  ++probe.look;
  return evidence;
}

/// Is the revision on the bad side of the border, or on the good one? FAIL of the paired rule, with
/// GOOD slowed down to the border as the baseline, says bad; of the mirror image, good.
Result<ProbeVerdict> side_of(stats::Sample ratios, double border, double level,
                             const BisectOptions& options) {
  std::vector<double> beyond(ratios.begin(), ratios.end());
  double sum = 0;
  for (double& one : beyond) {
    one -= border;
    sum += one;
  }
  const bool slower = sum < 0;
  if (!slower)
    for (double& one : beyond)
      one = -one;
  PairedOptions paired = paired_options_of(options);
  paired.tau = -std::expm1(border);
  SLUICE_TRY(const PairedEvidence evidence, weigh(beyond, level, 1, paired));
  paired.tau = 1e-12;  // PASS would mean: not beyond the border
  paired.floor = 0;
  if (judge_pairs(evidence, paired) != GateStatus::fail) return ProbeVerdict::open;
  return slower ? ProbeVerdict::bad : ProbeVerdict::good;
}

Status answer_bad(BisectState& state, stats::Sample ratios) {
  BisectProbe& probe = state.probes.back();
  SLUICE_TRY(const PairedEvidence evidence, weigh_look(probe, ratios, state.options));
  const bool last = probe.look == state.options.looks.size();
  const GateStatus status = judge_pairs(evidence, paired_options_of(state.options));
  if (status == GateStatus::pass || status == GateStatus::improved) {
    probe.verdict = ProbeVerdict::good;
    state.end = BisectEnd::not_slower;
  } else if (status == GateStatus::fail && (last || evidence.high <= evidence.estimate / 2)) {
    // Between GOOD and BAD for sure (at this level): half of the loss, or what is proved of it.
    probe.verdict = ProbeVerdict::bad;
    state.border = std::max(evidence.estimate / 2, evidence.high);
  } else if (last) {
    probe.verdict = ProbeVerdict::undecided;
    state.end = BisectEnd::not_shown;
  }
  if (probe.verdict == ProbeVerdict::open) return ok;
  state.spent += probe.level;
  if (state.end == BisectEnd::searching) go_on(state);
  return ok;
}

Status answer_between(BisectState& state, stats::Sample ratios) {
  BisectProbe& probe = state.probes.back();
  SLUICE_TRY(const PairedEvidence evidence, weigh_look(probe, ratios, state.options));
  SLUICE_TRY(probe.verdict, side_of(ratios, state.border, evidence.level, state.options));
  if (probe.verdict == ProbeVerdict::open && probe.look == state.options.looks.size())
    probe.verdict = ProbeVerdict::undecided;
  if (probe.verdict == ProbeVerdict::open) return ok;
  // An undecided one might have gone wrong too: its share is spent.
  state.spent += probe.level;
  if (probe.verdict == ProbeVerdict::good) state.good = probe.revision;
  if (probe.verdict == ProbeVerdict::bad) state.bad = probe.revision;
  go_on(state);
  return ok;
}

}  // namespace

const char* to_string(ProbeVerdict verdict) {
  switch (verdict) {
    case ProbeVerdict::good:
      return "good";
    case ProbeVerdict::bad:
      return "bad";
    case ProbeVerdict::undecided:
      return "undecided";
    case ProbeVerdict::skipped:
      return "skipped";
    case ProbeVerdict::open:
      break;
  }
  return "open";
}

const char* to_string(BisectEnd end) {
  switch (end) {
    case BisectEnd::found:
      return "found";
    case BisectEnd::range:
      return "range";
    case BisectEnd::not_slower:
      return "not slower";
    case BisectEnd::not_shown:
      return "not shown";
    case BisectEnd::searching:
      break;
  }
  return "searching";
}

std::vector<PairedLook> bisect_looks(int most) {
  std::vector<PairedLook> looks;
  for (int pairs = kBisectFirstPairs; pairs < most; pairs *= 2)
    looks.push_back({pairs, 1});
  looks.push_back({most, 1});
  for (PairedLook& look : looks)
    look.alpha_share = 1.0 / static_cast<double>(looks.size());
  return looks;
}

Status check_options(const BisectOptions& options) {
  PairedOptions paired = paired_options_of(options);
  if (!options.looks.empty()) paired.looks = options.looks;
  return check_options(paired);
}

const BisectProbe* BisectState::asked() const {
  return end == BisectEnd::searching ? &probes.back() : nullptr;
}

int BisectState::wanted_pairs() const {
  return end == BisectEnd::searching ? options.looks[probes.back().look].pairs : 0;
}

const BisectProbe* BisectState::probe_of(std::size_t revision) const {
  for (const BisectProbe& probe : probes)
    if (probe.revision == revision) return &probe;
  return nullptr;
}

Result<BisectState> begin_bisect(std::size_t commits, const BisectOptions& options) {
  if (commits == 0) return Error{Errc::usage, "bisect: no commit between GOOD and BAD"};
  SLUICE_CHECK(check_options(options));
  BisectState state;
  state.options = options;
  if (state.options.looks.empty()) state.options.looks = bisect_looks(kBisectMostPairs);
  state.commits = commits;
  state.bad = commits;
  ask(state, commits);
  return state;
}

Status answer(BisectState& state, stats::Sample log_ratios) {
  if (state.asked() == nullptr) return Error{Errc::internal, "bisect: the search has ended"};
  if (static_cast<int>(log_ratios.size()) != state.wanted_pairs())
    return Error{Errc::internal, fmt::format("bisect: {} pairs where {} were wanted",
                                             log_ratios.size(), state.wanted_pairs())};
  return state.border == 0 ? answer_bad(state, log_ratios) : answer_between(state, log_ratios);
}

Status pass_over(BisectState& state, std::string reason) {
  if (state.asked() == nullptr) return Error{Errc::internal, "bisect: the search has ended"};
  if (state.border == 0) return Error{Errc::internal, "bisect: BAD cannot be passed over"};
  BisectProbe& probe = state.probes.back();
  if (probe.look > 0) state.spent += probe.level;  // it was judged before it failed
  probe.verdict = ProbeVerdict::skipped;
  probe.reason = std::move(reason);
  go_on(state);
  return ok;
}

std::optional<std::size_t> next_revision(std::size_t good, std::size_t bad,
                                         const std::vector<std::size_t>& passed_over) {
  std::vector<std::size_t> between;
  for (std::size_t i = good + 1; i < bad; ++i)
    if (std::find(passed_over.begin(), passed_over.end(), i) == passed_over.end())
      between.push_back(i);
  if (between.empty()) return std::nullopt;
  // 1/2, 1/4, 3/4, 1/8, ...: the bits of a counter behind the point, in reverse.
  const std::size_t tried = bad - good - 1 - between.size();
  double share = 0, place = 0.5;
  for (std::size_t bits = tried + 1; bits > 0; bits /= 2, place /= 2)
    share += bits % 2 == 1 ? place : 0;
  const double aim = static_cast<double>(good) + share * static_cast<double>(bad - good);
  return *std::min_element(between.begin(), between.end(), [aim](std::size_t a, std::size_t b) {
    return std::abs(static_cast<double>(a) - aim) < std::abs(static_cast<double>(b) - aim);
  });
}

std::optional<stats::Estimate> change_between(const BisectState& state, stats::Sample good,
                                              stats::Sample bad) {
  const BisectProbe* probe = state.probe_of(state.bad);
  if (probe == nullptr || bad.size() < 2) return std::nullopt;
  if (state.good != 0 && good.size() < 2) return std::nullopt;
  double share = 1;
  for (const PairedLook& look : state.options.looks)
    share = std::min(share, look.alpha_share);
  const BisectProbe* before = state.probe_of(state.good);
  const double level = before == nullptr ? probe->level : std::min(probe->level, before->level);
  stats::TTestOptions options;
  options.confidence = 1 - 2 * level * share;
  const auto t =
      state.good == 0 ? stats::one_sample_t(bad, options) : stats::welch_t(bad, good, options);
  return t ? std::optional(t->interval) : std::nullopt;
}

int halvings(std::size_t commits) {
  int steps = 0;
  for (std::size_t left = 1; left < commits; left *= 2)
    ++steps;
  return steps;
}

}  // namespace sluice::gate
