// sluice/train/profile/device_profile.cpp - the passes, one after another: times first, since CUPTI
// costs some as soon as it is loaded.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/device_profile.h"

#include "sluice/train/cuda/ceilings.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/cuda/tracer.h"
#include "sluice/train/profile/step_runner.h"

#include <algorithm>
#include <utility>

namespace sluice::train {
namespace {

class Nobody final : public StepObserver {
 public:
  void phase(Phase, std::int64_t, std::int64_t) override {}
  void op(const OpSpan&) override {}
};

Status time_passes(DeviceProfile& profile, StepRunner& runner, const DevicePasses& passes) {
  SLUICE_CHECK(runner.steps(passes.warmup));
  SLUICE_TRY(profile.natural_ms, runner.timed_steps(passes.timed, nullptr));
  runner.engine().time_phases(true);
  SLUICE_CHECK(runner.steps(passes.warmup));
  SLUICE_TRY(profile.events_ms, runner.timed_steps(passes.timed, &profile.phase_sum_ms));
  runner.engine().time_phases(false);
  return ok;
}

/// One step whose ops are issued one by one, so that every kernel knows its own.
Status label_ops(DeviceProfile& profile, StepRunner& runner) {
  Nobody nobody;
  runner.engine().observe(&nobody);
  const auto unobserved = [&runner](Status status) {
    runner.engine().observe(nullptr);
    return status;
  };
  if (Status warm = runner.steps(1); !warm) return unobserved(std::move(warm));
  auto tracer = cuda::Tracer::begin(true);
  if (!tracer) {
    profile.no_ops = tracer.error().message;
    return unobserved(ok);
  }
  std::vector<DeviceStep> issued(1);
  if (auto stepped = runner.step(issued.front()); !stepped) return unobserved(stepped.error());
  runner.engine().observe(nullptr);
  SLUICE_TRY(cuda::Tracer::Records records, tracer->end());
  sort_into_steps(std::move(records.list), issued);
  const auto labelled = [](const DeviceRecord& record) { return !record.op.empty(); };
  if (std::none_of(issued.front().records.begin(), issued.front().records.end(), labelled)) {
    profile.no_ops = "CUPTI did not say which op launched a kernel";
    return ok;
  }
  for (DeviceStep& step : profile.steps)
    if (!label_by_order(step, issued.front()))
      profile.no_ops = "replayed kernels are not those that the ops launch one by one";
  profile.issued = std::move(issued.front());
  return ok;
}

Status trace_pass(DeviceProfile& profile, const EngineConfig& config, const BatchSource& next,
                  bool resident, const DevicePasses& passes) {
  auto tracer = cuda::Tracer::begin(false);  // before the graphs are made
  if (!tracer) {
    profile.no_trace = tracer.error().message;
    return ok;
  }
  SLUICE_TRY(StepRunner runner, StepRunner::make(config, next, resident));
  SLUICE_CHECK(runner.steps(passes.warmup));
  std::vector<DeviceStep> steps(static_cast<std::size_t>(passes.traced));
  for (DeviceStep& step : steps)
    SLUICE_CHECK(runner.step(step));
  SLUICE_TRY(cuda::Tracer::Records records, tracer->end());
  profile.note = std::move(records.note);
  sort_into_steps(std::move(records.list), steps);
  const bool any = std::any_of(steps.begin(), steps.end(),
                               [](const DeviceStep& step) { return !step.records.empty(); });
  if (!any) {
    profile.no_trace = "CUPTI recorded nothing in the steps";
    return ok;
  }
  profile.steps = std::move(steps);
  return label_ops(profile, runner);
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Result<DeviceProfile> profile_device(const EngineConfig& config, const BatchSource& next,
                                     bool resident, const DevicePasses& passes) {
  SLUICE_TRY(const int index, cuda::device_index(config.device));
  DeviceProfile profile;
  if (auto ceilings = cuda::measure_ceilings(index))
    profile.ceilings = *ceilings;
  else
    profile.no_ceilings = ceilings.error().message;
  {
    SLUICE_TRY(StepRunner runner, StepRunner::make(config, next, resident));
    profile.costs = costs_of(runner.engine().program());
    SLUICE_CHECK(time_passes(profile, runner, passes));
  }
  SLUICE_CHECK(trace_pass(profile, config, next, resident, passes));
  if (auto counters = count_step(config, next, resident))
    profile.counters = *counters;
  else if (counters.error().code == Errc::unsupported)
    profile.no_counters = counters.error().message;
  else
    return counters.error();
  const Ceilings roofs = profile.ceilings.value_or(Ceilings{});
  profile.summary = summarise(profile.steps, profile.costs, roofs);
  if (!profile.no_ops.empty()) {  // the times of kernels that were issued op by op
    const DeviceSummary by_op = summarise({profile.issued}, profile.costs, roofs);
    profile.summary.roofs = by_op.roofs;
    profile.summary.op_share = by_op.op_share;
  }
  return profile;
}

Json to_json(const DeviceProfile& profile, std::size_t top) {
  const auto reason_or = [](const std::string& why, Json value) {
    return why.empty() ? value : Json{{"reason", why}};
  };
  const double natural = median_of(profile.natural_ms), events = median_of(profile.events_ms);
  Json json{
      {"ceilings",
       reason_or(profile.no_ceilings, profile.ceilings ? to_json(*profile.ceilings) : Json())},
      {"step_ms", Json{{"natural", natural},
                       {"with_events", events},
                       {"phase_sum_with_events", median_of(profile.phase_sum_ms)},
                       {"natural_all", profile.natural_ms},
                       {"with_events_all", profile.events_ms}}},
      {"counters",
       reason_or(profile.no_counters, profile.counters ? to_json(*profile.counters) : Json())},
      {"utilisation", "estimate"},
      {"utilisation_note",
       "of ops: bytes and FLOP from shapes over measured kernel time; `counters` are of a whole "
       "step"}};
  if (!profile.no_trace.empty()) {
    json["trace"] = Json{{"reason", profile.no_trace}};
    return json;
  }
  json["trace"] = to_json(profile.summary, top);
  json["trace"]["launch_gaps"]["share_of_natural"] =
      natural > 0 ? Json(std::max(0.0, 1 - profile.summary.gaps.kernel_ms / natural)) : Json();
  if (!profile.note.empty()) json["trace"]["note"] = profile.note;
  if (!profile.no_ops.empty()) json["trace"]["roofline_note"] = profile.no_ops;
  return json;
}

}  // namespace sluice::train
