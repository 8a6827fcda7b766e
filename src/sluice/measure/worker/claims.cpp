// sluice/measure/worker/claims.cpp - each rule and the words that refuse what breaks it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unistd.h>

namespace sluice::measure {
namespace {

constexpr double kLeastOfPromised = 1e-6;  // a preflight may have met a stall of seconds
constexpr double kMostCpuTimes = 20;
constexpr double kSpareCpuNs = 2e9;

Error cannot_be(const std::string& what) {
  return Error{Errc::measurement, "measure: " + what};
}

double sum_of(const std::vector<std::int64_t>& samples_ns) {
  return std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0,
                         [](double sum, std::int64_t ns) { return sum + static_cast<double>(ns); });
}

double with_drift(std::int64_t elapsed_ns, double readings) {
  return static_cast<double>(elapsed_ns) * (1 + kClockDrift) +
         readings * static_cast<double>(kClockStepNs);
}

}  // namespace

Status check_times(const Measure::Answer& answer, const Witness& witness) {
  const std::int64_t elapsed_ns = witness.answered_ns - witness.asked_ns;
  const double claimed_ns = sum_of(answer.samples_ns);
  if (claimed_ns > with_drift(elapsed_ns, static_cast<double>(answer.samples_ns.size())))
    return cannot_be(fmt::format("samples_ns add up to {:.3f} ms, but the answer took {:.3f} ms",
                                 claimed_ns * 1e-6, static_cast<double>(elapsed_ns) * 1e-6));
  if (answer.start_ns < witness.asked_ns - kClockStepNs ||
      answer.start_ns > witness.answered_ns + kClockStepNs)
    return cannot_be(
        fmt::format("start_ns is {}; expected CLOCK_MONOTONIC between question and answer, {} to "
                    "{}",
                    answer.start_ns, witness.asked_ns, witness.answered_ns));
  const auto shortest = std::min_element(answer.samples_ns.begin(), answer.samples_ns.end());
  if (shortest != answer.samples_ns.end() && *shortest < kShortestSampleNs)
    return cannot_be(
        fmt::format("samples_ns holds {}; expected at least {}: reading the clock takes longer",
                    *shortest, kShortestSampleNs));
  const auto cores = static_cast<double>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  if (static_cast<double>(answer.cpu_ns) > cores * with_drift(elapsed_ns, 10))
    return cannot_be(
        fmt::format("cpu_ns is {}; {} cores have {} in the {:.3f} ms that the answer "
                    "took",
                    answer.cpu_ns, cores, cores * static_cast<double>(elapsed_ns),
                    static_cast<double>(elapsed_ns) * 1e-6));
  return ok;
}

Status check_work(const Measure& request, const Measure::Answer& answer, const Witness& witness,
                  double expected_ns) {
  const auto shortest = std::min_element(answer.samples_ns.begin(), answer.samples_ns.end());
  if (shortest != answer.samples_ns.end() &&
      static_cast<double>(*shortest) < kLeastOfPromised * expected_ns)
    return cannot_be(fmt::format("samples_ns holds {}; its own preflight makes that about {:.0f}",
                                 *shortest, expected_ns));
  if (!witness.cpu_ns) return ok;
  const double claimed_ns = sum_of(answer.samples_ns);
  const double busy = std::max(1.0, static_cast<double>(answer.cpu_ns) / claimed_ns);
  const double pass_ns =
      expected_ns / static_cast<double>(std::max<std::int64_t>(request.passes, 1));
  const double warmed_ns = std::min(static_cast<double>(answer.warmup_passes) * pass_ns,
                                    static_cast<double>(witness.answered_ns - witness.asked_ns));
  const double explained_ns = claimed_ns + std::max(request.warmup_limit_ms * 1e6, warmed_ns);
  if (static_cast<double>(*witness.cpu_ns) > kMostCpuTimes * busy * explained_ns + kSpareCpuNs)
    return cannot_be(fmt::format(
        "samples_ns add up to {:.3f} ms after a warm-up of at most {:g} ms, but the worker spent "
        "{:.3f} ms of CPU time",
        claimed_ns * 1e-6, (explained_ns - claimed_ns) * 1e-6,
        static_cast<double>(*witness.cpu_ns) * 1e-6));
  return ok;
}

}  // namespace sluice::measure
