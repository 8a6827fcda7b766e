// sluice/visit/device_profile_text.cpp - the tables of a profiled GPU.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/device_profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace sluice::visit {
namespace {

constexpr std::size_t kNameColumns = 58;

std::string cut(const std::string& name) {
  return name.size() <= kNameColumns ? name : name.substr(0, kNameColumns - 3) + "...";
}

void add_kernels(std::string& text, const train::DeviceSummary& summary, std::size_t top) {
  auto to = std::back_inserter(text);
  const auto steps = static_cast<double>(summary.steps);
  fmt::format_to(to, "\n{:<58} {:>12} {:>8} {:>9} {:>9}  {}\n", "kernel", "ms per step", "share",
                 "launches", "mean us", "category");
  for (std::size_t i = 0; i < std::min(top, summary.kernels.size()); ++i) {
    const train::KernelTotal& one = summary.kernels[i];
    fmt::format_to(to, "{:<58} {:>12.3f} {:>6.1f} % {:>9.0f} {:>9.1f}  {}\n", cut(one.name),
                   one.total_ms / steps, one.share * 100, static_cast<double>(one.launches) / steps,
                   one.mean_us(), one.category);
  }
  fmt::format_to(to, "\n{:<58} {:>12} {:>8} {:>9}\n", "category of kernels", "ms per step", "share",
                 "launches");
  for (const train::KernelTotal& one : summary.categories)
    fmt::format_to(to, "{:<58} {:>12.3f} {:>6.1f} % {:>9.0f}\n", one.category, one.total_ms / steps,
                   one.share * 100, static_cast<double>(one.launches) / steps);
}

void add_roofs(std::string& text, const train::DeviceProfile& profile, std::size_t top) {
  const train::DeviceSummary& summary = profile.summary;
  auto to = std::back_inserter(text);
  if (summary.roofs.empty()) {
    fmt::format_to(to, "\nno roofline: {}\n", profile.no_ops);
    return;
  }
  fmt::format_to(to, "\n{:<34} {:>12} {:>9} {:>8} {:>8} {:>8} {:>8}  {}\n", "op against the roofs",
                 "ms per step", "kernels", "GB/s", "TFLOP/s", "DRAM *", "tensor *", "of its roof");
  for (std::size_t i = 0; i < std::min(top, summary.roofs.size()); ++i) {
    const train::OpRoof& roof = summary.roofs[i];
    if (roof.cost.bytes <= 0 || roof.ms <= 0) {
      fmt::format_to(to, "{:<34} {:>12.3f} {:>9.0f}\n", roof.op, roof.ms, roof.kernels);
      continue;
    }
    fmt::format_to(to,
                   "{:<34} {:>12.3f} {:>9.0f} {:>8.0f} {:>8.3g} {:>6.1f} % {:>6.1f} %  {:.1f} "
                   "% ({})\n",
                   roof.op, roof.ms, roof.kernels, roof.cost.bytes / roof.ms * 1e-6,
                   roof.cost.flop / roof.ms * 1e-9, roof.dram_share * 100, roof.math_share * 100,
                   roof.roof_share() * 100, roof.bound());
  }
  fmt::format_to(to, "* estimate: bytes and FLOP from shapes over kernel time, of the ceilings\n");
  if (!profile.no_ops.empty())
    fmt::format_to(to, "ops by kernels that were issued one by one: {}\n", profile.no_ops);
}

}  // namespace

std::string device_text(const train::DeviceProfile& profile, std::size_t top) {
  std::string text;
  auto to = std::back_inserter(text);
  if (profile.ceilings)
    fmt::format_to(to,
                   "ceilings measured now: copy {:.0f} GB/s (read and written), bf16 product of "
                   "{}^3 {:.0f} TFLOP/s\n",
                   profile.ceilings->copy_gigabytes_per_s, profile.ceilings->product_side,
                   profile.ceilings->product_teraflops);
  else
    fmt::format_to(to, "no ceilings: {}\n", profile.no_ceilings);
  const double natural = train::median_of(profile.natural_ms);
  const double events = train::median_of(profile.events_ms);
  const double phases = train::median_of(profile.phase_sum_ms);
  fmt::format_to(to,
                 "step: natural {:.3f} ms, with events in it {:.3f} ms ({:+.1f} %), sum of its "
                 "phases {:.3f} ms ({:+.1f} % of natural)\n",
                 natural, events, natural > 0 ? (events / natural - 1) * 100 : 0, phases,
                 natural > 0 ? (phases / natural - 1) * 100 : 0);
  if (const auto& counted = profile.counters)
    fmt::format_to(to,
                   "counted by the hardware: {:.2f} GB read and {:.2f} GB written a step, {:.0f} "
                   "GB/s, {:.1f} % of what the memory can move{}\n",
                   counted->dram_read_bytes * 1e-9, counted->dram_write_bytes * 1e-9,
                   counted->dram_bytes_per_s() * 1e-9, counted->dram_share * 100,
                   counted->tensor_share ? fmt::format("; tensor cores work in {:.1f} % of cycles",
                                                       *counted->tensor_share * 100)
                                         : "");
  else
    fmt::format_to(to, "nothing counted by the hardware: {}\n", profile.no_counters);
  if (!profile.no_trace.empty()) {
    fmt::format_to(to, "no records of kernels: {}", profile.no_trace);
    return text;
  }
  const train::DeviceSummary& summary = profile.summary;
  fmt::format_to(to,
                 "launch gaps: {:.2f} % of the {:.3f} ms on the device no kernel runs, {:.2f} % "
                 "neither kernel nor copy ({} traced steps, {:.0f} kernels each, {:.0f} % of "
                 "them in graphs)\n",
                 summary.gaps.share * 100, summary.gaps.device_ms, summary.gaps.share_of_idle * 100,
                 summary.steps, summary.launches, summary.in_graph * 100);
  fmt::format_to(to,
                 "kernels take {:.3f} ms; of the natural step {:.2f} % is left (waits of the "
                 "host included)\n",
                 summary.gaps.kernel_ms,
                 natural > 0 ? std::max(0.0, 1 - summary.gaps.kernel_ms / natural) * 100 : 0);
  if (!profile.note.empty()) fmt::format_to(to, "{}\n", profile.note);
  add_kernels(text, summary, top);
  add_roofs(text, profile, top);
  return text;
}

}  // namespace sluice::visit
