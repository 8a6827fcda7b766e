// sluice/gate/bisect/simulation.cpp - scripted histories, searched.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/bisect/simulation.h"

#include "sluice/core/rng.h"

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

struct Searched {
  BisectState state;
  std::int64_t pairs = 0;
  int probes = 0;  // measured
};

/// One history of which commit `guilty` on is slower; broken commits are drawn, BAD never.
Result<Searched> search_once(const BisectSimulationOptions& options, std::size_t guilty,
                             double log_change, Rng& rng) {
  std::vector<bool> broken(options.commits + 1, false);
  for (std::size_t i = 1; i < options.commits; ++i)
    broken[i] = rng.uniform() < options.broken_share;
  BisectOptions search = options.search;
  search.seed = rng.next_u64();
  Searched done;
  SLUICE_TRY(done.state, begin_bisect(options.commits, search));
  NoisySession session(options.noise, rng);
  std::vector<double> ratios;
  std::size_t measured = 0;  // revision that `ratios` are of
  while (const BisectProbe* asked = done.state.asked()) {
    if (broken[asked->revision]) {
      SLUICE_CHECK(pass_over(done.state, "does not build"));
      continue;
    }
    if (asked->revision != measured) {
      ratios.clear();
      measured = asked->revision;
      ++done.probes;
    }
    while (static_cast<int>(ratios.size()) < done.state.wanted_pairs()) {
      ratios.push_back(session.pair(measured >= guilty ? log_change : 0));
      ++done.pairs;
    }
    SLUICE_CHECK(answer(done.state, ratios));
  }
  return done;
}

void count(SimulatedBisect& sum, const BisectState& state, std::size_t guilty, bool slower) {
  for (Share* share : {&sum.right, &sum.wrong, &sum.in_range, &sum.no_verdict})
    ++share->trials;
  if (state.end == BisectEnd::not_slower || state.end == BisectEnd::not_shown) {
    ++sum.no_verdict.count;
    return;
  }
  const bool inside = slower && guilty > state.good && guilty <= state.bad;
  if (!inside) {
    ++sum.wrong.count;
  } else if (state.end == BisectEnd::found) {
    ++sum.right.count;
  } else {
    ++sum.in_range.count;
  }
}

}  // namespace

Result<std::vector<SimulatedBisect>> simulate_bisect(const BisectSimulationOptions& options) {
  if (options.trials < 1 || options.noise.iterations < 2 || options.commits < 1)
    return Error{Errc::usage, "simulation: expected at least 1 trial, 1 commit and 2 iterations"};
  std::vector<double> slowdowns{0};
  slowdowns.insert(slowdowns.end(), options.slowdowns.begin(), options.slowdowns.end());
  std::vector<SimulatedBisect> table;
  for (std::size_t condition = 0; condition < slowdowns.size(); ++condition) {
    SimulatedBisect sum;
    sum.slowdown = slowdowns[condition];
    for (int trial = 0; trial < options.trials; ++trial) {
      Rng rng(RngKey{
          .seed = options.seed, .epoch = condition, .index = static_cast<std::uint64_t>(trial)});
      const std::size_t guilty = 1 + static_cast<std::size_t>(rng.below(options.commits));
      SLUICE_TRY(const Searched done, search_once(options, guilty, std::log1p(-sum.slowdown), rng));
      count(sum, done.state, guilty, sum.slowdown > 0);
      sum.probes += static_cast<double>(done.probes) / options.trials;
      sum.most_probes = std::max(sum.most_probes, done.probes);
      sum.pairs += static_cast<double>(done.pairs) / options.trials;
    }
    table.push_back(sum);
  }
  return table;
}

Json to_json(const SimulatedBisect& one) {
  return {{"slowdown", one.slowdown},
          {"right", to_json(one.right)},
          {"wrong", to_json(one.wrong)},
          {"range_with_it", to_json(one.in_range)},
          {"bad_not_shown_slower", to_json(one.no_verdict)},
          {"mean_probes", one.probes},
          {"most_probes", one.most_probes},
          {"mean_pairs", one.pairs}};
}

}  // namespace sluice::gate
