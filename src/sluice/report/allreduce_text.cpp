// sluice/report/allreduce_text.cpp - times and bandwidths of all-reduce by size.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/allreduce_text.h"

#include "sluice/core/text.h"
#include "sluice/report/storage_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

using results::AllreduceLine;

std::string bandwidth_text(double gb_per_s) {
  return fmt::format("{:.{}f}", gb_per_s, gb_per_s < 0.1 ? 4 : gb_per_s < 10 ? 3 : 1);
}

std::string time_text(double us) {
  return fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 10'000 ? 1 : 0);
}

std::string size_of(const AllreduceLine& line) {
  return bytes_text(static_cast<std::uint64_t>(line.bytes));
}

std::string range_text(const stats::Estimate& estimate, std::string (*text)(double)) {
  if (!(estimate.confidence > 0)) return "-";
  return fmt::format("{} to {}", text(estimate.low), text(estimate.high));
}

}  // namespace

std::string allreduce_conclusion(const results::AllreduceSummary& allreduce) {
  if (allreduce.lines.empty()) return "";
  const auto fastest = std::max_element(allreduce.lines.begin(), allreduce.lines.end(),
                                        [](const AllreduceLine& a, const AllreduceLine& b) {
                                          return a.bus_gb_per_s.point < b.bus_gb_per_s.point;
                                        });
  const AllreduceLine& smallest = allreduce.lines.front();
  return fmt::format(
      "{} ranks by {}{}: bus bandwidth {} GB/s at {}\n{} take {} us, {} us for each of the {} hops "
      "of a ring\n",
      allreduce.world_size, printable(allreduce.library),
      allreduce.machines > 1 ? fmt::format(" on {} machines", allreduce.machines) : "",
      bandwidth_text(fastest->bus_gb_per_s.point), size_of(*fastest), size_of(smallest),
      time_text(smallest.time_us.point),
      time_text(smallest.time_us.point / static_cast<double>(2 * (allreduce.world_size - 1))),
      2 * (allreduce.world_size - 1));
}

std::string allreduce_text(const results::ResultFile& file) {
  std::string text;
  if (!file.allreduce) {
    for (const measure::Row& row : file.rows)
      text += fmt::format("{}: {}: {}\n", printable(row.case_name), to_string(row.status),
                          printable(row.reason));
    return text;
  }
  text = fmt::format("{:>10} {:>5} {:>12} {:>22} {:>11} {:>9} {:>18}\n", "size", "sums", "time us",
                     "95 % interval", "algo GB/s", "bus GB/s", "95 % interval");
  for (const AllreduceLine& line : file.allreduce->lines)
    text += fmt::format(
        "{:>10} {:>5} {:>12} {:>22} {:>11} {:>9} {:>18}\n", size_of(line), line.sums,
        time_text(line.time_us.point), range_text(line.time_us, time_text),
        bandwidth_text(line.algorithm_gb_per_s.point), bandwidth_text(line.bus_gb_per_s.point),
        range_text(line.bus_gb_per_s, bandwidth_text));
  return text + "\n" + allreduce_conclusion(*file.allreduce);
}

}  // namespace sluice::report
