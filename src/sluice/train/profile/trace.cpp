// sluice/train/profile/trace.cpp - steps, regions and ops as events of a Chrome trace.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/trace.h"

#include "sluice/core/trace_json.h"
#include "sluice/train/profile/kernel_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace sluice::train {
namespace {

constexpr int kProcess = 1, kDeviceProcess = 2;

std::int64_t origin_of(const StepProfile& profile) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const StepTrace& step : profile.steps)
    origin = std::min(origin, step.start_ns);
  for (const DeviceStep& step : profile.device_steps)
    origin = std::min(origin, step.start_ns);
  return origin;
}

/// A process of its own: a row of steps, and per stream one of kernels and one of copies.
void add_device_rows(TraceJson& json, const StepProfile& profile, std::int64_t origin) {
  constexpr TracePlace kSteps{kDeviceProcess, 1};
  const auto us = [&](std::int64_t ns) { return static_cast<double>(ns - origin) / 1e3; };
  const auto length = [](std::int64_t start, std::int64_t end) {
    return static_cast<double>(end - start) / 1e3;
  };
  json.name_process(kDeviceProcess, profile.device);
  json.name_thread(kSteps, "steps");
  std::map<std::pair<std::uint32_t, bool>, TracePlace> rows;
  std::map<std::string, std::string> names;
  std::int64_t number = 0;
  for (const DeviceStep& step : profile.device_steps) {
    json.span(kSteps, us(step.start_ns), length(step.start_ns, step.end_ns),
              fmt::format("step {} of the trace", number++), "step");
    for (const DeviceRecord& record : step.records) {
      const bool kernel = record.work == DeviceWork::kernel;
      const auto [row, fresh] = rows.try_emplace(
          {record.stream, kernel}, TracePlace{kDeviceProcess, static_cast<int>(rows.size()) + 2});
      if (fresh)
        json.name_thread(row->second, fmt::format("{} of stream {}", kernel ? "kernels" : "copies",
                                                  record.stream));
      const auto [name, unknown] = names.try_emplace(record.name);
      if (unknown) name->second = readable_kernel(record.name);
      json.span(
          row->second, us(record.start_ns), length(record.start_ns, record.end_ns), name->second,
          kernel ? kernel_category(record.name) : "copies",
          kernel ? fmt::format(R"({{"op":{},"graph":{}}})", quoted_json(record.op), record.in_graph)
                 : fmt::format(R"({{"bytes":{}}})", record.bytes));
    }
  }
}

}  // namespace

std::string chrome_trace(const StepProfile& profile) {
  constexpr TracePlace kSteps{kProcess, 1}, kRegions{kProcess, 2}, kOps{kProcess, 3};
  const std::int64_t origin = origin_of(profile);
  const auto us = [&](std::int64_t ns) { return static_cast<double>(ns - origin) / 1e3; };
  const auto length = [](std::int64_t start, std::int64_t end) {
    return static_cast<double>(end - start) / 1e3;
  };
  TraceJson json(Json{{"displayTimeUnit", "ms"}, {"otherData", about_json(profile)}});
  json.name_process(kProcess, fmt::format("sluice {}", profile.model));
  json.name_thread(kSteps, "steps");
  json.name_thread(kRegions, "regions");
  json.name_thread(kOps, fmt::format("ops on {}", profile.device));
  for (const StepTrace& step : profile.steps) {
    json.span(kSteps, us(step.start_ns), length(step.start_ns, step.end_ns),
              fmt::format("step {}", step.number), "step",
              fmt::format(R"({{"step":{},"cycle":{}}})", step.number, step.cycle));
    for (const Region& region : step.regions)
      json.span(kRegions, us(region.start_ns), length(region.start_ns, region.end_ns),
                to_string(region.phase), "region", fmt::format(R"({{"step":{}}})", step.number));
    for (const TracedOp& op : step.ops)
      json.span(kOps, us(op.start_ns), length(op.start_ns, op.end_ns), op.name, op.category,
                fmt::format(R"({{"step":{}}})", step.number));
  }
  if (!profile.device_steps.empty()) add_device_rows(json, profile, origin);
  return std::move(json).finish();
}

}  // namespace sluice::train
