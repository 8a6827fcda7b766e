// sluice/gate/bisect/search.h - which commit made a program slower: what to measure next, and what
// the pairs so far prove.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/pairs/paired_rule.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

/// Revisions are numbered along the history: 0 is GOOD, `commits` is BAD, and one of 1 to `commits`
/// made it slower.
struct BisectOptions {
  double alpha = 0.05;  // (0, 0.5): the risk, over all steps, that the commit named is a wrong one
  double tau = 0.03;    // (0, 1): BAD must lose more than this can be ruled out
  double floor = 0.01;  // [0, 1): a smaller loss of BAD is not looked for
  std::vector<PairedLook> looks{};  // at one revision; empty: bisect_looks(kBisectMostPairs)
  int draws = 10'000;               // of the sign-flip test above 16 pairs
  std::uint64_t seed = 0;           // of these draws
};
inline constexpr int kBisectFirstPairs = 12;
inline constexpr int kBisectMostPairs = 192;

/// After 12 pairs, then after twice as many again and again, at last after `most`; equal shares.
std::vector<PairedLook> bisect_looks(int most);
Status check_options(const BisectOptions& options);

enum class ProbeVerdict {
  good,       // nearer to GOOD: not half as slow as BAD
  bad,        // nearer to BAD
  undecided,  // the last look left it open
  skipped,    // does not build or run
  open,       // wants more pairs
};
const char* to_string(ProbeVerdict verdict);

/// One revision beside GOOD.
struct BisectProbe {
  std::size_t revision = 0;
  ProbeVerdict verdict = ProbeVerdict::open;
  std::string reason;    // of a skipped one
  double level = 0;      // risk that this verdict may spend, over all its looks
  std::size_t look = 0;  // the next one
  int pairs = 0;         // judged so far
  // Logarithms of the speed over GOOD's; both ends one-sided at the level of the look.
  double estimate = 0, low = 0, high = 0;
  double sd = 0;   // of a pair
  double mde = 0;  // share of speed whose loss would have been found, as PairedEvidence
};

enum class BisectEnd {
  searching,
  found,       // one commit
  range,       // several: between them nothing could be measured or decided
  not_slower,  // BAD does not lose tau
  not_shown,   // whether it does is left open
};
const char* to_string(BisectEnd end);

/// Where a search stands: a value, so that a stored one is had again by answering again.
struct BisectState {
  BisectOptions options;
  std::size_t commits = 0;
  std::size_t good = 0;             // the last one known to be good
  std::size_t bad = 0;              // the first one known to be bad
  double border = 0;                // log ratio between good and bad; 0: BAD is not measured yet
  double spent = 0;                 // of alpha
  std::vector<BisectProbe> probes;  // in the order asked for; the last one may be open
  BisectEnd end = BisectEnd::searching;

  /// The probe that is asked about; none when the search has ended.
  [[nodiscard]] const BisectProbe* asked() const;
  /// Pairs that it must have before it is judged.
  [[nodiscard]] int wanted_pairs() const;
  /// Probe of a revision; null: it was not asked for.
  [[nodiscard]] const BisectProbe* probe_of(std::size_t revision) const;
};

/// A search over `commits` (at least 1) asks for BAD first.
Result<BisectState> begin_bisect(std::size_t commits, const BisectOptions& options);

/// `log_ratios` of all pairs of the asked revision, exactly as many as were wanted.
Status answer(BisectState& state, stats::Sample log_ratios);
/// The asked revision cannot be measured. Not for BAD, without which there is nothing to search.
Status pass_over(BisectState& state, std::string reason);

/// The revision to ask for between a good and a bad one: the middle, and where that was passed over
/// 1/4, 3/4, 1/8, 3/8, ... of the way, so that a broken stretch is left quickly. Nothing: all
/// between were.
std::optional<std::size_t> next_revision(std::size_t good, std::size_t bad,
                                         const std::vector<std::size_t>& passed_over);

/// Change in speed from the last good to the first bad revision, by the log ratios that each was
/// judged by; those of GOOD itself, beside which all are measured, are not asked for. Nothing: one
/// was not measured. The interval is at the level of a look: pairs end when they decide, and a
/// plain 95 % interval held the true change in 33 of 39 real searches only.
std::optional<stats::Estimate> change_between(const BisectState& state, stats::Sample good,
                                              stats::Sample bad);

/// Halvings that leave one of that many commits.
int halvings(std::size_t commits);

}  // namespace sluice::gate
