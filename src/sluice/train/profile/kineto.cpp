// sluice/train/profile/kineto.cpp - steps, regions, ops and kernels as Kineto writes them: what
// TensorBoard's torch-tb-profiler 0.4.3 reads, and how it reads it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/trace_json.h"
#include "sluice/train/profile/kernel_name.h"
#include "sluice/train/profile/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::train {
namespace {

/// The plugin takes the process of a kernel for the number of its device, of which it knows 64.
constexpr TracePlace kHost{1000, 1};
constexpr int kMostDevices = 64;

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

/// Kineto's events of the host's thread, numbered as it numbers them.
class KinetoThread {
 public:
  KinetoThread(TraceJson& json, const Grid& grid) : json_(json), grid_(grid) {
    json_.name_process(kHost.process, "sluice");
    json_.name_thread(kHost, "training");
  }

  /// The external id of the event.
  std::int64_t span(const char* category, std::string_view name, std::int64_t start_ns,
                    std::int64_t end_ns, std::string_view kind = {}) {
    std::string args = fmt::format(R"({{"External id":{},"Ev Idx":{},"Sequence number":{})",
                                   next_ + 1, next_, next_);
    if (!kind.empty()) args += fmt::format(R"(,"Category":{})", quoted_json(kind));
    args += R"(,"Input Dims":[],"Input type":[]})";
    const double start = grid_.at(start_ns);
    json_.span(kHost, start, grid_.at(end_ns) - start, name, category, args);
    return ++next_;
  }

  /// The correlation by which what runs on the device finds the op `owner`, an external id. Without
  /// length: when the host launched it was not recorded.
  std::int64_t launch(std::int64_t owner, std::int64_t at_ns) {
    json_.span(kHost, grid_.at(at_ns), 0, "launch", "Runtime",
               fmt::format(R"({{"External id":{},"correlation":{}}})", owner, ++launches_));
    return launches_;
  }

 private:
  TraceJson& json_;
  const Grid& grid_;
  std::int64_t next_ = 0;
  std::int64_t launches_ = 0;
};

Json head(const StepProfile& profile, Json devices) {
  return Json{{"schemaVersion", 1},
              {"deviceProperties", std::move(devices)},
              {"traceName", "sluice"},
              {"sluice", about_json(profile)}};
}

/// "cuda:1 NVIDIA H200" -> 1.
int device_number(const std::string& device) {
  const std::size_t colon = device.find(':');
  int number = 0;
  if (colon != std::string::npos)
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), number);
  return std::clamp(number, 0, kMostDevices - 1);
}

/// By number, so that those before ours are there without a word.
Json device_properties(int number, const std::string& device) {
  Json devices = Json::array();
  for (int i = 0; i < number; ++i)
    devices.push_back(Json{{"id", i}});
  const std::size_t space = device.find(' ');
  devices.push_back(Json{{"id", number},
                         {"name", space == std::string::npos ? device : device.substr(space + 1)}});
  return devices;
}

const char* kineto_category(DeviceWork work) {
  switch (work) {
    case DeviceWork::kernel:
      return "kernel";
    case DeviceWork::copy:
      return "gpu_memcpy";
    case DeviceWork::clear:
      return "gpu_memset";
  }
  return "kernel";
}

/// The rows of the device: a process with its number, a thread per stream.
class KinetoDevice {
 public:
  KinetoDevice(TraceJson& json, const std::string& device, std::int64_t origin)
      : json_(json), number_(device_number(device)), origin_(origin) {
    json_.name_process(number_, device);
  }

  void add(const DeviceRecord& record, std::int64_t owner, std::int64_t correlation) {
    const TracePlace row{number_, static_cast<int>(record.stream)};
    if (streams_.insert(record.stream).second)
      json_.name_thread(row, fmt::format("stream {}", record.stream));
    const auto [name, unknown] = names_.try_emplace(record.name);
    if (unknown) name->second = readable_kernel(record.name);
    std::string args =
        fmt::format(R"({{"External id":{},"correlation":{},"device":{},"stream":{},"op":{})", owner,
                    correlation, number_, record.stream, quoted_json(record.op));
    if (record.work != DeviceWork::kernel) args += fmt::format(R"(,"bytes":{})", record.bytes);
    json_.span(row, static_cast<double>(record.start_ns - origin_) / 1e3,
               static_cast<double>(record.end_ns - record.start_ns) / 1e3, name->second,
               kineto_category(record.work), args + "}");
  }

 private:
  TraceJson& json_;
  int number_;
  std::int64_t origin_;
  std::set<std::uint32_t> streams_;
  std::map<std::string, std::string> names_;
};

/// Of the steps that count.
template <class Step, class Counts>
std::int64_t first_start(const std::vector<Step>& steps, Counts counts) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const Step& step : steps)
    if (counts(step)) origin = std::min(origin, step.start_ns);
  return origin;
}

}  // namespace

std::string kineto_trace(const StepProfile& profile, int cycle) {
  const auto ours = [cycle](const StepTrace& step) { return step.cycle == cycle; };
  const Grid grid(first_start(profile.steps, ours));
  TraceJson json(head(profile, Json::array()));
  KinetoThread thread(json, grid);
  for (const StepTrace& step : profile.steps) {
    if (!ours(step)) continue;
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

std::string kineto_kernels(const StepProfile& profile) {
  const std::int64_t origin =
      first_start(profile.device_steps, [](const DeviceStep&) { return true; });
  const Grid grid(origin);
  TraceJson json(head(profile, device_properties(device_number(profile.device), profile.device)));
  KinetoThread thread(json, grid);
  KinetoDevice device(json, profile.device, origin);
  std::int64_t number = 0;
  for (const DeviceStep& step : profile.device_steps) {
    const std::int64_t whole = thread.span(
        "user_annotation", fmt::format("ProfilerStep#{}", number++), step.start_ns, step.end_ns);
    const DeviceRecord* before = nullptr;
    std::int64_t owner = whole, correlation = 0;
    for (const DeviceRecord& record : step.records) {
      if (before == nullptr || before->op != record.op) {
        const std::int64_t at = record.start_ns;
        owner = record.op.empty() ? whole : thread.span("cpu_op", record.op, at, at);
        correlation = thread.launch(owner, at);
      }
      device.add(record, owner, correlation);
      before = &record;
    }
  }
  return std::move(json).finish();
}

}  // namespace sluice::train
