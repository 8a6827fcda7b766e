// sluice/analysis/bottleneck.cpp - the rules of the verdict, and what each asks for.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::analysis {
namespace {

constexpr double kSlack = 0.02;          // loader and model this near are equally fast
constexpr double kWaiting = 0.05;        // share of a step: a smaller wait is small
constexpr double kHidden = 0.9;          // of the shorter of both
constexpr double kExplained = 0.05;      // residual below this: nothing is missing
constexpr double kUnexplained = 0.10;    // from here on something is
constexpr double kSynchronising = 0.10;  // share of a step
constexpr double kTransferring = 0.5;    // of the residual: the copy explains it

double overlap_of(double loader, double model, double together) {
  const double shorter = std::min(loader, model);
  return shorter > 0 ? (loader + model - together) / shorter : 0;
}

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

Bottleneck verdict_of(double loader, double model, double together, double wait, double transfer,
                      const std::optional<RankTimes>& ranks) {
  const double residual = share_of(together - std::max(loader, model), together);
  if (loader > model * (1 + kSlack) && wait > kWaiting) return Bottleneck::input;
  if (model >= loader && overlap_of(loader, model, together) >= kHidden && residual < kExplained)
    return Bottleneck::compute;
  if (ranks && ranks->ranks > 1) {
    const double synchronising = share_of(together - ranks->single_ms, together);
    if (synchronising >= kSynchronising || ranks->skew >= 1 + kSynchronising)
      return Bottleneck::sync;
  }
  if (residual >= kUnexplained && wait <= kWaiting)
    return share_of(transfer, together) >= kTransferring * residual ? Bottleneck::transfer
                                                                    : Bottleneck::interference;
  return Bottleneck::mixed;
}

double transfer_ms(const StepTimes& times) {
  return times.transfer ? times.transfer->point : 0;
}

std::array<double, 3> values_in(const stats::Estimate& estimate) {
  if (estimate.confidence <= 0) return {estimate.point, estimate.point, estimate.point};
  return {estimate.point, estimate.low, estimate.high};
}

/// The verdict at every corner of the intervals.
std::vector<Bottleneck> others_within(const StepTimes& times, Bottleneck verdict) {
  std::vector<Bottleneck> others;
  for (const double loader : values_in(times.loader))
    for (const double model : values_in(times.model))
      for (const double together : values_in(times.together))
        for (const double wait : values_in(times.wait_share)) {
          const Bottleneck one =
              verdict_of(loader, model, together, wait, transfer_ms(times), times.ranks);
          if (one != verdict && std::find(others.begin(), others.end(), one) == others.end())
            others.push_back(one);
        }
  std::sort(others.begin(), others.end());
  return others;
}

std::string diagnosis_of(const Attribution& found) {
  const StepTimes& times = found.times;
  switch (found.verdict) {
    case Bottleneck::input:
      return fmt::format("INPUT: it is the loader; {:.0f} % of a step is waiting for data",
                         times.wait_share.point * 100);
    case Bottleneck::compute:
      return fmt::format(
          "COMPUTE: a faster loader won't help; the step alone is {:.0f} % of the time",
          share_of(times.model.point, times.together.point) * 100);
    case Bottleneck::transfer:
      return fmt::format("TRANSFER: it is the copy to the device, {:.2f} ms a batch ({}, {})",
                         transfer_ms(times), times.sending.upload,
                         times.sending.pinned ? "pinned memory" : "pageable memory");
    case Bottleneck::interference:
      return fmt::format(
          "INTERFERENCE: loader and step are slowing each other down; neither explains {:.0f} % of "
          "a "
          "step",
          found.residual_share * 100);
    case Bottleneck::sync:
      return fmt::format("SYNC: {} ranks wait for each other",
                         times.ranks ? times.ranks->ranks : 0);
    case Bottleneck::mixed:
      break;
  }
  return fmt::format(
      "MIXED: no single cause; {:.0f} % of a step is waiting for data, {:.0f} % is explained by "
      "neither part",
      times.wait_share.point * 100, std::max(found.residual_share, 0.0) * 100);
}

std::vector<std::string> solutions_of(const Attribution& found) {
  const StepTimes& times = found.times;
  std::vector<std::string> list;
  switch (found.verdict) {
    case Bottleneck::input:
      list = {kNothingPromised};
      break;
    case Bottleneck::compute:
      list = {"look at the step itself: `sluice profile` shows where its time goes"};
      break;
    case Bottleneck::transfer:
      if (!times.sending.pinned) list.emplace_back("load into pinned memory: --pin-memory");
      if (times.sending.upload != "uint8")
        list.emplace_back("send a byte a sample and normalise on the device: --upload uint8");
      if (list.empty())
        list.emplace_back("the link to the device is the limit: smaller images, fewer per step");
      break;
    case Bottleneck::interference:
      list = {"find how many workers leave the step its cores: `sluice tune`"};
      break;
    case Bottleneck::sync:
      list = {"look for the slow rank: if it moves, loading is too slow",
              "fewer, larger exchanges of gradients (--grad-accum)"};
      break;
    case Bottleneck::mixed:
      list = {"find workers and prefetch that suit both: `sluice tune`"};
      break;
  }
  return list;
}

}  // namespace

stats::Estimate exactly(double value) {
  return {value, value, value, 0};
}

Attribution attribute(const StepTimes& times) {
  const double loader = times.loader.point, model = times.model.point;
  const double together = times.together.point;
  Attribution found;
  found.times = times;
  found.ideal_ms = std::max(loader, model);
  found.serial_ms = loader + model;
  found.overlap = overlap_of(loader, model, together);
  found.residual_ms = together - found.ideal_ms;
  found.residual_share = share_of(found.residual_ms, together);
  found.headspace = together > 0 ? 1 - model / together : 0;
  found.busy_share = 1 - times.wait_share.point;
  found.verdict =
      verdict_of(loader, model, together, times.wait_share.point, transfer_ms(times), times.ranks);
  found.could_also_be = others_within(times, found.verdict);
  found.statement = diagnosis_of(found);
  return found;
}

Finding finding_of(const Attribution& found) {
  const StepTimes& times = found.times;
  std::string evidence = fmt::format(
      "per batch: loader alone {:.2f} ms, step alone {:.2f} ms, together {:.2f} ms; waiting {:.1f} "
      "% of the time, overlap {:.2f}, unexplained {:.1f} %",
      times.loader.point, times.model.point, times.together.point, times.wait_share.point * 100,
      found.overlap, found.residual_share * 100);
  for (std::size_t i = 0; i < found.could_also_be.size(); ++i)
    evidence += fmt::format("{}{}", i == 0 ? "; within the intervals it could also be " : " or ",
                            to_string(found.could_also_be[i]));
  return {found.statement, std::move(evidence), solutions_of(found)};
}

}  // namespace sluice::analysis
