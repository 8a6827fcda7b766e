// sluice/train/profile/device_summary.cpp - sums over device records.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/device_summary.h"

#include "sluice/train/profile/intervals.h"
#include "sluice/train/profile/kernel_name.h"
#include "sluice/train/profile/step_trace.h"

#include <array>
#include <utility>

namespace sluice::train {
namespace {

struct KernelSum {
  std::int64_t count = 0;
  std::int64_t ns = 0;
  void add(const DeviceRecord& record) {
    ++count;
    ns += record.end_ns - record.start_ns;
  }
};

struct OpSum {
  KernelSum kernels;
  OpCost cost;
};

/// A mangled name is made readable once.
class Names {
 public:
  using Name = std::pair<std::string, std::string>;  // readable, category
  const Name& of(const DeviceRecord& record) {
    const auto [place, fresh] = known_.try_emplace(record.name);
    if (fresh) {
      const bool kernel = record.work == DeviceWork::kernel;
      place->second = {readable_kernel(record.name),
                       kernel ? std::string(kernel_category(record.name)) : "copies"};
    }
    return place->second;
  }

 private:
  std::map<std::string, Name> known_;
};

struct Sums {
  std::int64_t steps = 0, device_ns = 0, kernel_ns = 0, busy_ns = 0, launches = 0, in_graph = 0;
  std::map<std::pair<std::string, std::string>, KernelSum> kernels;
  std::map<std::string, KernelSum> categories;
  std::map<std::string, OpSum> ops;
};

void add_step(Sums& sums, const DeviceStep& step, const std::map<std::string, OpCost>& costs,
              Names& names) {
  std::vector<Interval> kernels, all;
  std::int64_t first = 0, last = 0;
  const std::string* previous = nullptr;
  for (const DeviceRecord& record : step.records) {
    if (record.work != DeviceWork::kernel) continue;
    if (kernels.empty()) first = record.start_ns;
    last = std::max(last, record.end_ns);
    kernels.emplace_back(record.start_ns, record.end_ns);
    sums.in_graph += record.in_graph ? 1 : 0;
    if (record.op.empty()) continue;
    OpSum& op = sums.ops[without_block(record.op)];
    op.kernels.add(record);
    // An op may be several kernels; they follow one another.
    if (previous == nullptr || *previous != record.op)
      if (const auto cost = costs.find(record.op); cost != costs.end()) {
        op.cost.bytes += cost->second.bytes;
        op.cost.flop += cost->second.flop;
      }
    previous = &record.op;
  }
  if (kernels.empty()) return;
  for (const DeviceRecord& record : step.records) {
    const auto& [name, category] = names.of(record);
    sums.kernels[{category, name}].add(record);
    sums.categories[category].add(record);
    all.emplace_back(std::clamp(record.start_ns, first, last),
                     std::clamp(record.end_ns, first, last));
  }
  ++sums.steps;
  sums.launches += static_cast<std::int64_t>(kernels.size());
  sums.device_ns += last - first;
  sums.kernel_ns += covered_ns(std::move(kernels));
  sums.busy_ns += covered_ns(std::move(all));
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

std::vector<OpRoof> roofs_of(const Sums& sums, const Ceilings& ceilings) {
  std::vector<OpRoof> roofs;
  const auto steps = static_cast<double>(sums.steps);
  for (const auto& [name, sum] : sums.ops) {
    OpRoof roof;
    roof.op = name;
    roof.kernels = static_cast<double>(sum.kernels.count) / steps;
    roof.ms = static_cast<double>(sum.kernels.ns) * 1e-6 / steps;
    roof.cost = {sum.cost.bytes / steps, sum.cost.flop / steps};
    roof.dram_share = ratio(ratio(roof.cost.bytes, roof.ms) * 1e-6, ceilings.copy_gigabytes_per_s);
    roof.math_share = ratio(ratio(roof.cost.flop, roof.ms) * 1e-9, ceilings.product_teraflops);
    roofs.push_back(std::move(roof));
  }
  std::stable_sort(roofs.begin(), roofs.end(),
                   [](const OpRoof& a, const OpRoof& b) { return a.ms > b.ms; });
  return roofs;
}

Json to_json(const KernelTotal& total, double steps) {
  Json json{{"category", total.category},
            {"launches_per_step", ratio(static_cast<double>(total.launches), steps)},
            {"ms_per_step", ratio(total.total_ms, steps)},
            {"mean_us", total.mean_us()},
            {"share", total.share}};
  if (!total.name.empty()) json["name"] = total.name;
  return json;
}

}  // namespace

Json to_json(const Ceilings& ceilings) {
  return Json{{"copy_gigabytes_per_s", ceilings.copy_gigabytes_per_s},
              {"copy_bytes", ceilings.copy_bytes},
              {"product_teraflops", ceilings.product_teraflops},
              {"product_side", ceilings.product_side}};
}

DeviceSummary summarise(const std::vector<DeviceStep>& steps,
                        const std::map<std::string, OpCost>& costs, const Ceilings& ceilings) {
  Sums sums;
  Names names;
  for (const DeviceStep& step : steps)
    add_step(sums, step, costs, names);
  DeviceSummary summary;
  summary.steps = sums.steps;
  if (sums.steps == 0) return summary;
  const auto steps_done = static_cast<double>(sums.steps);
  const auto device_ns = static_cast<double>(sums.device_ns);
  const auto add = [&](std::vector<KernelTotal>& list, std::string name, std::string category,
                       const KernelSum& sum) {
    const auto ns = static_cast<double>(sum.ns);
    list.push_back(
        {std::move(name), std::move(category), sum.count, ns * 1e-6, ratio(ns, device_ns)});
  };
  for (const auto& [key, sum] : sums.kernels)
    add(summary.kernels, key.second, key.first, sum);
  for (const auto& [category, sum] : sums.categories)
    add(summary.categories, "", category, sum);
  for (auto* list : {&summary.kernels, &summary.categories})
    std::stable_sort(list->begin(), list->end(), [](const KernelTotal& a, const KernelTotal& b) {
      return a.total_ms > b.total_ms;
    });
  summary.launches = static_cast<double>(sums.launches) / steps_done;
  summary.in_graph = ratio(static_cast<double>(sums.in_graph), static_cast<double>(sums.launches));
  summary.gaps = {device_ns * 1e-6 / steps_done,
                  static_cast<double>(sums.kernel_ns) * 1e-6 / steps_done,
                  1 - ratio(static_cast<double>(sums.kernel_ns), device_ns),
                  1 - ratio(static_cast<double>(sums.busy_ns), device_ns)};
  summary.roofs = roofs_of(sums, ceilings);
  double known_ms = 0;
  for (const OpRoof& roof : summary.roofs)
    known_ms += roof.ms;
  summary.op_share = ratio(known_ms, summary.gaps.kernel_ms);
  return summary;
}

Json to_json(const DeviceSummary& summary, std::size_t top) {
  const auto steps = static_cast<double>(summary.steps);
  Json kernels = Json::array(), categories = Json::array(), roofs = Json::array();
  for (std::size_t i = 0; i < std::min(top, summary.kernels.size()); ++i)
    kernels.push_back(to_json(summary.kernels[i], steps));
  for (const KernelTotal& one : summary.categories)
    categories.push_back(to_json(one, steps));
  for (const OpRoof& roof : summary.roofs) {
    Json json{{"op", roof.op}, {"launches_per_step", roof.kernels}, {"ms_per_step", roof.ms}};
    if (roof.cost.bytes > 0) {
      json["bytes_per_step"] = roof.cost.bytes;
      json["flop_per_step"] = roof.cost.flop;
      json["bound"] = roof.bound();
      json["roof_share"] = roof.roof_share();
      json["dram_utilisation_estimate"] = roof.dram_share;
      json["tensor_core_utilisation_estimate"] = roof.math_share;
    }
    roofs.push_back(std::move(json));
  }
  return Json{{"steps", summary.steps},
              {"launches_per_step", summary.launches},
              {"share_in_graph", summary.in_graph},
              {"launch_gaps", Json{{"device_ms", summary.gaps.device_ms},
                                   {"kernel_ms", summary.gaps.kernel_ms},
                                   {"share", summary.gaps.share},
                                   {"share_without_copies", summary.gaps.share_of_idle}}},
              {"kernel_categories", std::move(categories)},
              {"kernels", std::move(kernels)},
              {"roofline", std::move(roofs)},
              {"share_of_known_ops", summary.op_share}};
}

}  // namespace sluice::train
