// sluice/stats/usl.cpp - the fit: linear in N / X = a + b (N - 1) + c N (N - 1), with b and c not
// below 0.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/usl.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace sluice::stats {
namespace {

using Column = std::array<double, 3>;

/// Solves the normal equations over the terms of `use` (the others are 0) by elimination. Empty:
/// the terms cannot be told apart.
std::optional<Column> solve(const std::array<Column, 3>& products, const Column& right,
                            const std::array<bool, 3>& use) {
  std::array<std::array<double, 4>, 3> rows{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j)
      rows[i][j] = use[i] && use[j] ? products[i][j] : (i == j ? 1.0 : 0.0);
    rows[i][3] = use[i] ? right[i] : 0;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < 3; ++r)
      if (std::abs(rows[r][i]) > std::abs(rows[pivot][i])) pivot = r;
    std::swap(rows[i], rows[pivot]);
    if (std::abs(rows[i][i]) < 1e-14) return std::nullopt;
    for (std::size_t r = 0; r < 3; ++r) {
      if (r == i) continue;
      const double factor = rows[r][i] / rows[i][i];
      for (std::size_t k = i; k < 4; ++k)
        rows[r][k] -= factor * rows[i][k];
    }
  }
  return Column{rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

Status check(Sample workers, Sample rates) {
  SLUICE_CHECK(require_sample(workers, 3, "scalability law"));
  SLUICE_CHECK(require_sample(rates, 3, "scalability law"));
  if (workers.size() != rates.size())
    return Error{Errc::invalid_input,
                 fmt::format("scalability law: {} worker counts and {} rates, they must be pairs",
                             workers.size(), rates.size())};
  for (std::size_t i = 0; i < workers.size(); ++i)
    if (workers[i] <= 0 || rates[i] <= 0)
      return Error{Errc::invalid_input,
                   fmt::format("scalability law: {} workers with rate {}: both must be above 0",
                               workers[i], rates[i])};
  const std::set<double> different(workers.begin(), workers.end());
  if (different.size() < 3)
    return Error{Errc::invalid_input,
                 fmt::format("scalability law: {} different worker counts, at least 3 are needed",
                             different.size())};
  return ok;
}

double error_of(const Usl& usl, Sample workers, Sample rates) {
  double sum = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const double fitted = usl.at(workers[i]);
    sum += (rates[i] - fitted) / fitted * ((rates[i] - fitted) / fitted);
  }
  return std::sqrt(sum / static_cast<double>(workers.size()));
}

}  // namespace

Result<Usl> fit_usl(Sample workers, Sample rates) {
  SLUICE_CHECK(check(workers, rates));
  std::array<Column, 3> products{};
  Column right{};
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const double n = workers[i];
    const double weight = rates[i] / n;  // makes every equation 1 = ..., so errors are relative
    const Column terms{weight, weight * (n - 1), weight * n * (n - 1)};
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = 0; b < 3; ++b)
        products[a][b] += terms[a] * terms[b];
      right[a] += terms[a];
    }
  }
  std::optional<Usl> best;
  for (const auto& use : {std::array<bool, 3>{true, true, true},
                          {true, true, false},
                          {true, false, true},
                          {true, false, false}}) {
    const auto solved = solve(products, right, use);
    if (!solved || (*solved)[0] <= 0 || (*solved)[1] < 0 || (*solved)[2] < 0) continue;
    Usl usl;
    usl.lambda = 1 / (*solved)[0];
    usl.sigma = (*solved)[1] / (*solved)[0];
    usl.kappa = (*solved)[2] / (*solved)[0];
    usl.error = error_of(usl, workers, rates);
    if (usl.kappa > 0 && usl.sigma < 1) usl.peak = std::sqrt((1 - usl.sigma) / usl.kappa);
    if (!best || usl.error < best->error) best = usl;
  }
  if (!best || !std::isfinite(best->error))
    return Error{Errc::measurement, "scalability law: no curve fits these rates"};
  return *best;
}

}  // namespace sluice::stats
