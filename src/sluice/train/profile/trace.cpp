// sluice/train/profile/trace.cpp - steps, regions and ops as events.
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

Json about(const StepProfile& profile) {
  return Json{{"model", profile.model},   {"device", profile.device}, {"library", profile.library},
              {"regime", profile.regime}, {"batch", profile.batch},   {"threads", profile.threads}};
}

std::int64_t origin_of(const StepProfile& profile, int cycle) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const StepTrace& step : profile.steps)
    if (cycle < 0 || step.cycle == cycle) origin = std::min(origin, step.start_ns);
  if (cycle < 0)
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

/// Microseconds from `origin` on a grid that doubles hold exactly; rounding down keeps the order,
/// so what was nested stays nested.
class Grid {
 public:
  explicit Grid(std::int64_t origin) : origin_(origin) {}
  [[nodiscard]] double at(std::int64_t ns) const {
    constexpr std::int64_t kStepNs = 125;
    return static_cast<double>((ns - origin_) / kStepNs) * 0.125;
  }

 private:
  std::int64_t origin_;
};

/// Kineto's events of one thread, numbered as it numbers them.
class KinetoThread {
 public:
  KinetoThread(TraceJson& json, const Grid& grid) : json_(json), grid_(grid) {}
  void span(const char* category, std::string_view name, std::int64_t start_ns, std::int64_t end_ns,
            std::string_view kind = {}) {
    std::string args = fmt::format(R"({{"External id":{},"Ev Idx":{},"Sequence number":{})",
                                   next_ + 1, next_, next_);
    if (!kind.empty()) args += fmt::format(R"(,"Category":{})", quoted_json(kind));
    args += R"(,"Input Dims":[],"Input type":[]})";
    ++next_;
    const double start = grid_.at(start_ns);
    json_.span({kProcess, kProcess}, start, grid_.at(end_ns) - start, name, category, args);
  }

 private:
  TraceJson& json_;
  const Grid& grid_;
  std::int64_t next_ = 0;
};

}  // namespace

std::string chrome_trace(const StepProfile& profile) {
  constexpr TracePlace kSteps{kProcess, 1}, kRegions{kProcess, 2}, kOps{kProcess, 3};
  const std::int64_t origin = origin_of(profile, -1);
  const auto us = [&](std::int64_t ns) { return static_cast<double>(ns - origin) / 1e3; };
  const auto length = [](std::int64_t start, std::int64_t end) {
    return static_cast<double>(end - start) / 1e3;
  };
  TraceJson json(Json{{"displayTimeUnit", "ms"}, {"otherData", about(profile)}});
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

std::string kineto_trace(const StepProfile& profile, int cycle) {
  const Grid grid(origin_of(profile, cycle));
  TraceJson json(Json{{"schemaVersion", 1},
                      {"deviceProperties", Json::array()},
                      {"traceName", "sluice"},
                      {"sluice", about(profile)}});
  json.name_process(kProcess, "sluice");
  json.name_thread({kProcess, kProcess}, "training");
  KinetoThread thread(json, grid);
  for (const StepTrace& step : profile.steps) {
    if (step.cycle != cycle) continue;
    thread.span("user_annotation", fmt::format("ProfilerStep#{}", step.number), step.start_ns,
                step.end_ns);
    for (const Region& region : step.regions) {
      // As cpu_op: of annotations the plugin keeps the steps only.
      thread.span("cpu_op", to_string(region.phase), region.start_ns, region.end_ns, "region");
      if (region.phase == Phase::data)  // the name by which it knows waiting for data
        thread.span("cpu_op", "enumerate(DataLoader)#sluice.__next__", region.start_ns,
                    region.end_ns, "region");
    }
    for (const TracedOp& op : step.ops)
      thread.span("cpu_op", op.name, op.start_ns, op.end_ns, op.category);
  }
  return std::move(json).finish();
}

}  // namespace sluice::train
