// sluice/train/profile/step_trace.cpp - where the time of profiled steps went.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/step_trace.h"

#include "sluice/train/profile/intervals.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace sluice::train {
namespace {

double milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

struct CallSum {
  std::int64_t calls = 0;
  std::int64_t ns = 0;
  OpCost cost;
  void add(std::int64_t duration) {
    ++calls;
    ns += duration;
  }
};

template <class Totals>
void sort_longest_first(Totals& totals) {
  std::stable_sort(totals.begin(), totals.end(),
                   [](const auto& a, const auto& b) { return a.total_ms > b.total_ms; });
}

}  // namespace

std::string without_block(const std::string& name) {
  constexpr std::string_view kBlock = "block";
  if (name.rfind(kBlock, 0) != 0) return name;
  std::size_t end = kBlock.size();
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0)
    ++end;
  if (end == kBlock.size()) return name;
  return std::string(kBlock) + "*" + name.substr(end);
}

Json about_json(const StepProfile& profile) {
  return Json{{"model", profile.model},   {"device", profile.device}, {"library", profile.library},
              {"regime", profile.regime}, {"batch", profile.batch},   {"threads", profile.threads}};
}

ProfileSummary summarise(const StepProfile& profile) {
  ProfileSummary summary;
  std::int64_t all_ns = 0, in_regions = 0, in_ops = 0;
  std::array<CallSum, kPhases.size()> phases{};
  std::map<std::pair<std::string, std::string>, CallSum> ops;  // by category and name
  std::map<std::string, CallSum> categories;
  for (const StepTrace& step : profile.steps) {
    all_ns += step.end_ns - step.start_ns;
    std::vector<Interval> regions, spans;
    for (const Region& region : step.regions) {
      phases[static_cast<std::size_t>(region.phase)].add(region.end_ns - region.start_ns);
      regions.emplace_back(region.start_ns, region.end_ns);
    }
    for (const TracedOp& op : step.ops) {
      CallSum& sum = ops[{op.category, without_block(op.name)}];
      sum.add(op.end_ns - op.start_ns);
      if (const auto known = profile.costs.find(op.name); known != profile.costs.end()) {
        sum.cost.bytes += known->second.bytes;
        sum.cost.flop += known->second.flop;
      }
      categories[op.category].add(op.end_ns - op.start_ns);
      spans.emplace_back(op.start_ns, op.end_ns);
    }
    in_regions += covered_ns(std::move(regions));
    in_ops += covered_ns(std::move(spans));
  }
  const auto share = [&](std::int64_t ns) {
    return all_ns > 0 ? static_cast<double>(ns) / static_cast<double>(all_ns) : 0;
  };
  summary.steps = static_cast<std::int64_t>(profile.steps.size());
  if (summary.steps > 0)
    summary.step_ms = milliseconds(all_ns) / static_cast<double>(summary.steps);
  for (const Phase phase : kPhases) {
    const CallSum& sum = phases[static_cast<std::size_t>(phase)];
    summary.phases.push_back(
        {std::string(to_string(phase)), sum.calls, milliseconds(sum.ns), share(sum.ns)});
  }
  for (const auto& [key, sum] : ops)
    summary.ops.push_back(
        {key.second, key.first, sum.calls, milliseconds(sum.ns), share(sum.ns), sum.cost});
  for (const auto& [category, sum] : categories)
    summary.categories.push_back({category, sum.calls, milliseconds(sum.ns), share(sum.ns)});
  sort_longest_first(summary.ops);
  sort_longest_first(summary.categories);
  summary.region_coverage = share(in_regions);
  summary.op_coverage = share(in_ops);
  return summary;
}

Json to_json(const ProfileSummary& summary, std::size_t top) {
  const auto list_of = [](const std::vector<CategoryTotal>& totals, const char* name) {
    Json list = Json::array();
    for (const CategoryTotal& one : totals)
      list.push_back(Json{{name, one.category},
                          {"calls", one.calls},
                          {"total_ms", one.total_ms},
                          {"share", one.share}});
    return list;
  };
  Json ops = Json::array();
  for (std::size_t i = 0; i < std::min(top, summary.ops.size()); ++i) {
    const OpTotal& op = summary.ops[i];
    ops.push_back(Json{{"name", op.name},
                       {"category", op.category},
                       {"calls", op.calls},
                       {"total_ms", op.total_ms},
                       {"share", op.share},
                       {"gigabytes_per_s", op.gigabytes_per_s()},
                       {"teraflops", op.teraflops()}});
  }
  return Json{
      {"steps", summary.steps},
      {"observed_step_ms", summary.step_ms},
      {"phases", list_of(summary.phases, "phase")},
      {"categories", list_of(summary.categories, "category")},
      {"top_ops", std::move(ops)},
      {"coverage", Json{{"regions", summary.region_coverage}, {"ops", summary.op_coverage}}}};
}

}  // namespace sluice::train
