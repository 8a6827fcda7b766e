// sluice/report/gain/resource_lines.cpp - lists of a result file become lines to draw.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gain/resource_lines.h"

#include "sluice/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::report {

std::string ResourceLine::summary() const {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const double highest = *std::max_element(values.begin(), values.end());
  const auto text = [&](double value) {
    return share ? fmt::format("{:.0f} %", value * 100) : bytes(value);
  };
  return fmt::format("mean {}, highest {} of {}", text(mean), text(highest), top);
}

std::vector<ResourceLine> resource_lines(const results::ResourceUse& use) {
  std::vector<ResourceLine> lines;
  const auto add = [&](const char* name, const std::vector<double>& values, double most,
                       const std::string& top, bool share) {
    const bool sound = !values.empty() && values.size() == use.at_s.size() && most > 0 &&
                       std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
    if (sound) lines.push_back({name, use.at_s, values, most, top, share});
  };
  add("CPU", use.cpu, 1, fmt::format("{} core{}", use.cores, use.cores == 1 ? "" : "s"), true);
  add("RAM", use.ram, use.ram_total, bytes(use.ram_total), false);
  add("GPU", use.gpu, 1, "the time", true);
  add("GPU memory", use.gpu_ram, use.gpu_ram_total, bytes(use.gpu_ram_total), false);
  return lines;
}

std::string sparkline(const ResourceLine& line) {
  constexpr std::size_t kWidth = 40;
  static constexpr const char* kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t count = std::min(kWidth, line.values.size());
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin =
        line.values.begin() + static_cast<std::ptrdiff_t>(i * line.values.size() / count);
    const auto end =
        line.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * line.values.size() / count);
    const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
    const double level = std::clamp(mean / line.most, 0.0, 1.0) * 7;
    out += kLevels[static_cast<std::size_t>(std::lround(level))];
  }
  return out;
}

}  // namespace sluice::report
