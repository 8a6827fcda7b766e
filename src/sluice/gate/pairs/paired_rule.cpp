// sluice/gate/pairs/paired_rule.cpp - interval, two tests, smallest visible effect, verdict.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_rule.h"

#include "sluice/stats/multiplicity.h"
#include "sluice/stats/power.h"
#include "sluice/stats/rank.h"
#include "sluice/stats/sign_flip.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

constexpr int kMostPairs = 10'000;

Status refuse(std::string message) {
  return Error{Errc::usage, std::move(message)};
}

Status check_looks(const std::vector<PairedLook>& looks) {
  if (looks.empty()) return refuse("no look at the pairs: expected at least one");
  int before = 1;
  double shares = 0;
  for (const PairedLook& look : looks) {
    if (look.pairs <= before || look.pairs > kMostPairs)
      return refuse(fmt::format("{} pairs: expected {} to {}", look.pairs, before + 1, kMostPairs));
    if (!(look.alpha_share > 0)) return refuse("a look without a share of alpha");
    before = look.pairs;
    shares += look.alpha_share;
  }
  if (std::abs(shares - 1) > 1e-9)
    return refuse(fmt::format("the looks spend {:g} of alpha: expected 1", shares));
  return ok;
}

}  // namespace

std::vector<PairedLook> single_look(int pairs) {
  return {{pairs, 1.0}};
}

Status check_options(const PairedOptions& options) {
  if (!(options.tau > 0 && options.tau < 1))
    return refuse(fmt::format("tau {:g}: expected above 0 % and below 100 %", options.tau));
  if (!(options.floor >= 0 && options.floor < 1))
    return refuse(fmt::format("floor {:g}: expected from 0 % to below 100 %", options.floor));
  if (!(options.alpha > 0 && options.alpha < 0.5))
    return refuse(fmt::format("alpha {:g}: expected above 0 and below 0.5", options.alpha));
  if (!(options.power > 0 && options.power < 1))
    return refuse(fmt::format("power {:g}: expected above 0 and below 1", options.power));
  if (options.confirm_pairs == 1 || options.confirm_pairs < 0 || options.confirm_pairs > kMostPairs)
    return refuse(fmt::format("{} pairs to confirm: expected 0, or 2 to {}", options.confirm_pairs,
                              kMostPairs));
  if (!(options.confirm_alpha > 0 && options.confirm_alpha < 0.5))
    return refuse(fmt::format("confirmation level {:g}: expected above 0 and below 0.5",
                              options.confirm_alpha));
  return check_looks(options.looks);
}

double speed_change(double log_ratio) {
  return std::expm1(log_ratio);
}

int fewest_pairs(double level, std::size_t family) {
  return static_cast<int>(std::ceil(std::log2(static_cast<double>(family) / level) - 1e-9));
}

Result<PairedEvidence> weigh(stats::Sample log_ratios, double level, std::size_t family,
                             const PairedOptions& options) {
  PairedEvidence evidence;
  evidence.pairs = static_cast<int>(log_ratios.size());
  evidence.level = level;
  SLUICE_TRY(const stats::TTest t,
             stats::one_sample_t(log_ratios, {stats::Alternative::less, 1 - 2 * level}));
  evidence.estimate = t.difference;
  evidence.low = t.interval.low;
  evidence.high = t.interval.high;
  evidence.p_t = t.p;
  SLUICE_TRY(evidence.sd, stats::sd(log_ratios));
  SLUICE_TRY(evidence.hodges_lehmann, stats::hodges_lehmann(log_ratios));
  SLUICE_TRY(const stats::SignFlip flips,
             stats::sign_flip(log_ratios, {stats::Alternative::less, options.draws, options.seed}));
  evidence.p_sign_flip = flips.p;
  evidence.sign_flip_exact = flips.exact;
  evidence.p_holm = std::max(evidence.p_t, evidence.p_sign_flip);
  const double first_step = level / static_cast<double>(family);  // what Holm asks of the hardest
  SLUICE_TRY(const double mde,
             stats::paired_mde(evidence.sd, evidence.pairs, {first_step, options.power}));
  evidence.mde = -std::expm1(-mde);
  const double single = options.alpha / static_cast<double>(family);
  SLUICE_TRY(const std::int64_t needed,
             stats::needed_pairs(evidence.sd, -std::log1p(-options.tau), {single, options.power}));
  evidence.needed_pairs = std::max<std::int64_t>(needed, fewest_pairs(options.alpha, family));
  return evidence;
}

Status adjust(const std::vector<PairedEvidence*>& blocking) {
  std::vector<double> p_values;
  for (const PairedEvidence* evidence : blocking)
    p_values.push_back(std::max(evidence->p_t, evidence->p_sign_flip));
  SLUICE_TRY(const std::vector<double> adjusted, stats::holm(p_values));
  for (std::size_t i = 0; i < blocking.size(); ++i)
    blocking[i]->p_holm = adjusted[i];
  return ok;
}

GateStatus judge_pairs(const PairedEvidence& evidence, const PairedOptions& options) {
  if (evidence.low > 0 && evidence.estimate >= std::log1p(options.floor))
    return GateStatus::improved;
  if (evidence.low > std::log1p(-options.tau)) return GateStatus::pass;
  const bool significant = evidence.high < 0 && evidence.p_holm <= evidence.level;
  if (significant && evidence.estimate <= std::log1p(-options.floor)) return GateStatus::fail;
  return GateStatus::inconclusive;
}

}  // namespace sluice::gate
