// sluice/measure/worker/claims.h - what a worker says of its time, held against our own clock and
// what the kernel counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/measure/worker/messages.h"

#include <cstdint>
#include <optional>

namespace sluice::measure {

/// What the supervisor saw of one `measure`.
struct Witness {
  std::int64_t asked_ns = 0;  // CLOCK_MONOTONIC
  std::int64_t answered_ns = 0;
  std::optional<std::int64_t> cpu_ns{};  // of all threads of the worker in between
};

/// A worker whose clock counts milliseconds is still believed, and one that is off by 0.1 %.
inline constexpr std::int64_t kClockStepNs = 1'000'000;
inline constexpr double kClockDrift = 0.001;
/// Two readings of a clock take longer.
inline constexpr std::int64_t kShortestSampleNs = 10;

/// Refused: samples that together are longer than the answer took; a start that does not lie
/// between question and answer; a sample in no time; more CPU time than all cores have.
Status check_times(const Measure::Answer& answer, const Witness& witness);

/// Of passes that do nothing but the work (no set-up of a loader): a sample of less than a
/// millionth of what the worker's own preflight promised (`expected_ns`) is refused, and so is CPU
/// time, by the kernel's count, of more than 20 times what the samples and the warm-up explain, and
/// 2 s beside that. The warm-up: as long as was asked for, or as many passes as it says, where a
/// case warms up by its own count of steps. Honest workers are off by less than 3 times and spend
/// some 0.2 s on collecting garbage.
Status check_work(const Measure& request, const Measure::Answer& answer, const Witness& witness,
                  double expected_ns);

}  // namespace sluice::measure
