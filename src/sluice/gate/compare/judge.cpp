// sluice/gate/compare/judge.cpp - the rule of a verdict.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/compare/judge.h"

#include "sluice/core/text.h"
#include "sluice/measure/summary.h"
#include "sluice/stats/distribution.h"
#include "sluice/stats/multiplicity.h"
#include "sluice/stats/power.h"
#include "sluice/stats/summary.h"
#include "sluice/stats/t_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

using measure::Better;
using measure::RowStatus;

Side side_of(const analysis::PooledRow& pooled, const std::vector<double>& rates) {
  Side side;
  side.status = pooled.row.status;
  side.reason = pooled.row.reason;
  side.runs = static_cast<int>(rates.size());
  if (const auto rate = stats::geometric_mean(rates)) {
    side.value = pooled.row.better == Better::higher ? *rate : 1 / *rate;
  }
  return side;
}

std::string status_text(const Side& side, const char* where) {
  const std::string why = side.reason.empty() ? "" : ": " + printable(side.reason);
  return fmt::format("{} in {}{}", measure::to_string(side.status), where, why);
}

// Why a row present on both sides cannot be compared at all; empty if it can.
std::string obstacle_to_verdict(const analysis::PooledRow& base,
                                const analysis::PooledRow& candidate, const RowComparison& row) {
  std::vector<std::string> parts;
  if (row.base->status != RowStatus::ok) parts.push_back(status_text(*row.base, "base"));
  if (row.candidate->status != RowStatus::ok)
    parts.push_back(status_text(*row.candidate, "candidate"));
  if (!parts.empty()) return join(parts, "; ");
  if (!base.conflict.empty()) return "base: " + base.conflict;
  if (!candidate.conflict.empty()) return "candidate: " + candidate.conflict;
  if (base.row.unit != candidate.row.unit) {
    return fmt::format("measured in {} in base and in {} in candidate", printable(base.row.unit),
                       printable(candidate.row.unit));
  }
  if (base.row.better != candidate.row.better)
    return "base and candidate disagree on what is better";
  if (row.base->runs == 0) return "no timed samples in base";
  if (row.candidate->runs == 0) return "no timed samples in candidate";
  return {};
}

/// Base has a number here that a candidate can be held against.
bool is_measured(const analysis::PooledRow& base) {
  return base.row.status == RowStatus::ok && base.conflict.empty() &&
         !measure::run_rates(base.row).empty();
}

/// A row that base measured and candidate does not have, or says it did not measure.
void fail_if_gone(RowComparison& row, const CompareOptions& options) {
  const bool gone = !row.candidate || row.candidate->status == RowStatus::unsupported ||
                    row.candidate->status == RowStatus::skipped;
  if (row.base->status != RowStatus::ok || !gone) return;
  row.missing = true;
  row.verdict = options.allow_missing ? GateStatus::skip : GateStatus::fail;
  if (!options.allow_missing) row.reason += "; --allow-missing accepts that";
}

// Ratio, interval and p as far as the runs allow.
void estimate(Prepared& prepared, const std::vector<double>& base,
              const std::vector<double>& candidate, const CompareOptions& options) {
  RowComparison& row = prepared.row;
  const auto test =
      stats::welch_t_on_logs(candidate, base, {stats::Alternative::two_sided, options.confidence});
  if (!test) {
    const auto top = stats::geometric_mean(candidate);
    const auto bottom = stats::geometric_mean(base);
    if (top && bottom) row.ratio_point = *top / *bottom;
    return;
  }
  row.ratio_point = std::exp(test->difference);
  row.ratio = stats::Estimate{*row.ratio_point, std::exp(test->interval.low),
                              std::exp(test->interval.high), options.confidence};
  if (!std::isfinite(row.ratio->high))
    row.ratio.reset();  // two wildly different runs: no bound worth printing
  row.p = test->p;
  prepared.log_standard_error = test->standard_error;
  prepared.df = test->df;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// As pairs decide it: a loss of the threshold or more would hardly ever look this good.
Result<bool> rules_out_loss(const Prepared& prepared, const CompareOptions& options) {
  const double margin = std::log(*prepared.row.ratio_point) - std::log1p(-options.threshold);
  if (prepared.log_standard_error == 0) return margin > 0;
  SLUICE_TRY(const double p,
             stats::student_t_sf(margin / prepared.log_standard_error, prepared.df));
  return p < options.alpha;
}

Status give_verdict(Prepared& prepared, const CompareOptions& options) {
  RowComparison& row = prepared.row;
  const double ratio = *row.ratio_point;
  const bool significant = *row.p_holm < options.alpha;
  const double change =
      std::min(ratio, 1 / ratio);  // the slower over the faster side: the same either way round
  const bool over = 1 - change > options.threshold;
  const std::string size =
      ratio < 1 ? percent(1 - ratio) + " slower" : percent(ratio - 1) + " faster";
  const std::string limit = percent(options.threshold);
  if (significant && over) {
    row.verdict = ratio < 1 ? GateStatus::fail : GateStatus::improved;
    row.reason = fmt::format("{}, significant and over {}", size, limit);
    return ok;
  }
  SLUICE_TRY(const bool passes, rules_out_loss(prepared, options));
  row.verdict = passes ? GateStatus::pass : GateStatus::inconclusive;
  if (significant) {
    row.reason = fmt::format("{}, significant but not over {}", size, limit);
  } else if (over) {
    row.reason = fmt::format("{}, not significant", size);
  } else {
    row.reason = "no significant difference";
  }
  row.reason += fmt::format("; a loss of {} is {}", limit, passes ? "ruled out" : "not ruled out");
  return ok;
}

}  // namespace

Prepared prepare(const analysis::PooledRow* base, const analysis::PooledRow* candidate,
                 const CompareOptions& options) {
  const measure::Row& first = base != nullptr ? base->row : candidate->row;
  Prepared out;
  RowComparison& row = out.row;
  row.case_name = first.case_name;
  row.params = first.params;
  row.library = first.library;
  row.unit = first.unit;
  row.better = first.better;
  std::vector<double> base_rates;
  std::vector<double> candidate_rates;
  if (base != nullptr) {
    base_rates = measure::run_rates(base->row);
    row.base = side_of(*base, base_rates);
  }
  if (candidate != nullptr) {
    candidate_rates = measure::run_rates(candidate->row);
    row.candidate = side_of(*candidate, candidate_rates);
  }
  if (base == nullptr || candidate == nullptr) {
    const Side& side = base != nullptr ? *row.base : *row.candidate;
    const char* where = base != nullptr ? "base" : "candidate";
    row.reason = fmt::format("only in {}", where);
    if (side.status != RowStatus::ok) row.reason += ", " + status_text(side, "it");
    if (base != nullptr) fail_if_gone(row, options);
    return out;
  }
  row.reason = obstacle_to_verdict(*base, *candidate, row);
  if (!row.reason.empty()) {
    if (is_measured(*base)) row.verdict = GateStatus::invalid;
    fail_if_gone(row, options);
    return out;
  }

  estimate(out, base_rates, candidate_rates, options);
  const int fewest = std::min(row.base->runs, row.candidate->runs);
  if (fewest < options.min_runs || !row.p) {
    row.verdict = GateStatus::inconclusive;
    row.reason = fmt::format("{} runs in base and {} in candidate, at least {} on each side needed",
                             row.base->runs, row.candidate->runs, options.min_runs);
    return out;
  }
  out.judged = true;
  return out;
}

Status judge(std::vector<Prepared>& rows, const CompareOptions& options) {
  std::vector<double> p_values;
  for (const Prepared& prepared : rows) {
    if (prepared.judged) p_values.push_back(*prepared.row.p);
  }
  SLUICE_TRY(const auto adjusted, stats::holm(p_values));
  // The first step of Holm's procedure, two tails: what the hardest row to find had to pass.
  const double tail =
      options.alpha / 2 / static_cast<double>(std::max<std::size_t>(p_values.size(), 1));
  std::size_t next = 0;
  for (Prepared& prepared : rows) {
    if (!prepared.row.p) continue;
    if (const auto mde = stats::minimal_detectable_effect(
            prepared.log_standard_error, prepared.df, {.alpha = tail, .power = options.power})) {
      prepared.row.mde = -std::expm1(-*mde);
    }
    if (!prepared.judged) continue;
    prepared.row.p_holm = adjusted[next++];
    SLUICE_CHECK(give_verdict(prepared, options));
  }
  return ok;
}

}  // namespace sluice::gate
