// sluice/visit/gate/spin_pairs.cpp - a pair is a wave of two rows and one block.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/spin_pairs.h"

#include "sluice/core/rng.h"
#include "sluice/gate/baseline/pairs.h"
#include "sluice/measure/inject.h"
#include "sluice/scenario/spin.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::visit {
namespace {

constexpr std::uint32_t kPairStage = 2;  // of RngKey

measure::SubjectSpec side_of(const SpinPlan& plan, const char* name, const std::string& slowdown) {
  measure::SubjectSpec side;
  side.case_name = scenario::kSpinCase;
  side.library = name;
  side.command = plan.worker;
  side.unit = "pass/s";
  side.spec = Json{{"rounds", plan.rounds}};
  side.single_pass = true;  // a turn is one pass, and a preflight would take longer than the pair
  side.cpu_limit = measure::kNoCpuLimit;
  side.environment[measure::kInjectVariable] = slowdown.empty() ? "0%" : slowdown;
  return side;
}

}  // namespace

SpinPairs::SpinPairs(SpinPlan plan, const measure::RunnerContext& runner)
    : plan_(std::move(plan)),
      runner_(runner),
      sides_{side_of(plan_, "A", ""), side_of(plan_, "B", plan_.slowdown)} {}

Result<std::vector<gate::PairValue>> SpinPairs::take(int index) {
  measure::Policy policy;
  policy.runs = 1;
  policy.samples_per_run = plan_.turns;
  policy.min_sample_ms = policy.warmup_ms = policy.warmup_limit_ms = 0;
  policy.seed =
      Rng(RngKey{
              .seed = plan_.seed, .index = static_cast<std::uint64_t>(index), .stage = kPairStage})
          .next_u64();
  SLUICE_TRY(const measure::WaveResult wave, measure::run_wave(sides_, policy, runner_));
  if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
  for (const measure::Row& row : wave.rows)
    if (row.status != measure::RowStatus::ok)
      return Error{Errc::measurement, fmt::format("selftest: {}: {}", row.library, row.reason)};
  SLUICE_TRY(const gate::PairValue value,
             gate::value_of_rounds(wave.rows[0].runs.front().samples_ns,
                                   wave.rows[1].runs.front().samples_ns, 1));
  return std::vector<gate::PairValue>{value};
}

}  // namespace sluice::visit
