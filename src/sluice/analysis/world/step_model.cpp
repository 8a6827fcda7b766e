// sluice/analysis/world/step_model.cpp - rings and trees, and pieces behind a backward.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/world/step_model.h"

#include <algorithm>
#include <cmath>

namespace sluice::analysis {
namespace {

/// Scatter or gather, half of a ring: each rank passes a share on in n - 1 hops.
double half_ring_s(double bytes, double ranks, const Link& link) {
  return (ranks - 1) / ranks * bytes / link.bytes_per_s + (ranks - 1) * link.latency_s;
}

double ring_s(double bytes, double ranks, const Link& link) {
  return 2 * half_ring_s(bytes, ranks, link);
}

/// What NCCL's own tuning reckons that its trees reach of a link.
constexpr double kTreeBandwidth = 0.92;

/// Up and down again; with two trees of half the bytes each, every link is used both ways.
double tree_s(double bytes, double ranks, const Link& link) {
  return 2 * bytes / (kTreeBandwidth * link.bytes_per_s) +
         2 * std::ceil(std::log2(ranks)) * link.latency_s;
}

/// The shorter of both.
SumCost flat_cost(double bytes, double ranks, const Link& link) {
  if (ranks < 2) return {};
  const double ring = ring_s(bytes, ranks, link);
  const double tree = tree_s(bytes, ranks, link);
  if (tree < ring) return {tree, SumAlgorithm::tree, 2 * bytes, 0};
  return {ring, SumAlgorithm::ring, 2 * (ranks - 1) / ranks * bytes, 0};
}

/// Backward, with sums that may slow it down.
class Backward {
 public:
  explicit Backward(const MeasuredStep& step) : step_(step) {}

  /// Goes on until `share` of it is done.
  void reach(double share) {
    double missing = share * step_.backward_s - done_s_;
    if (missing <= 0) return;
    done_s_ += missing;
    if (now_s_ < busy_until_s_) {
      const double speed = 1 - step_.contention;
      const double beside = std::min(missing, speed * (busy_until_s_ - now_s_));
      now_s_ = beside < missing ? busy_until_s_ : now_s_ + beside / speed;
      missing -= beside;
    }
    now_s_ += missing;
  }
  void begin_sum(double seconds) { busy_until_s_ = std::max(now_s_, busy_until_s_) + seconds; }
  [[nodiscard]] double end_s() const { return std::max(now_s_, busy_until_s_); }

 private:
  const MeasuredStep& step_;
  double done_s_ = 0;  // of backward alone
  double now_s_ = 0;
  double busy_until_s_ = 0;
};

}  // namespace

const char* to_string(SumAlgorithm algorithm) {
  return algorithm == SumAlgorithm::ring ? "ring" : "tree";
}

SumCost sum_cost(double bytes, const Cluster& cluster) {
  const double ranks = cluster.ranks;
  const double per_node = std::min(cluster.per_node, cluster.ranks);
  if (per_node < 2) return flat_cost(bytes, ranks, cluster.between);
  if (per_node == ranks) {
    SumCost cost = flat_cost(bytes, ranks, cluster.within);
    std::swap(cost.sent_between, cost.sent_within);
    return cost;
  }
  SumCost cost = flat_cost(bytes / per_node, ranks / per_node, cluster.between);
  cost.seconds += ring_s(bytes, per_node, cluster.within);
  cost.sent_within = 2 * (per_node - 1) / per_node * bytes;
  return cost;
}

StepPrediction predict_step(const MeasuredStep& step, const Cluster& cluster) {
  StepPrediction found;
  found.ranks = cluster.ranks;
  Backward backward(step);
  double largest = -1;
  for (const GradientPiece& piece : step.pieces) {
    const SumCost cost = sum_cost(piece.bytes, cluster);
    backward.reach(piece.ready_share);
    backward.begin_sum(cost.seconds);
    found.sums_s += cost.seconds;
    found.sent_between += cost.sent_between;
    found.sent_within += cost.sent_within;
    if (piece.bytes > largest) found.algorithm = cost.algorithm;
    largest = std::max(largest, piece.bytes);
  }
  backward.reach(1);
  found.exposed_s = std::max(0.0, backward.end_s() - step.backward_s);
  found.step_s = step.step_s + found.exposed_s;
  found.efficiency = step.step_s / found.step_s;
  found.samples_per_s = step.samples * cluster.ranks / found.step_s;
  return found;
}

std::optional<FittedLink> fitted_link(const results::AllreduceSummary& measured, double low_bytes,
                                      double high_bytes) {
  if (measured.lines.size() < 2 || measured.world_size < 2) return std::nullopt;
  const double fixed_s = measured.lines.front().time_us.point * 1e-6;
  std::vector<results::AllreduceLine> near;
  for (const results::AllreduceLine& line : measured.lines)
    if (static_cast<double>(line.bytes) >= low_bytes &&
        static_cast<double>(line.bytes) <= high_bytes)
      near.push_back(line);
  if (near.empty()) near.assign(measured.lines.begin() + 1, measured.lines.end());
  // Least squares of fixed / t + s x / t = 1, t the measured seconds of x bytes, s sought.
  double above = 0, below = 0;
  for (const results::AllreduceLine& line : near) {
    const double t = line.time_us.point * 1e-6;
    const double slope = static_cast<double>(line.bytes) / t;
    above += slope * (1 - fixed_s / t);
    below += slope * slope;
  }
  const double per_byte = above / below;
  if (!(per_byte > 0)) return std::nullopt;
  const auto ranks = static_cast<double>(measured.world_size);
  FittedLink fitted;
  fitted.link = {2 * (ranks - 1) / ranks / per_byte, fixed_s / (2 * (ranks - 1))};
  fitted.sizes = near.size();
  for (const results::AllreduceLine& line : near) {
    const double found = fixed_s + per_byte * static_cast<double>(line.bytes);
    fitted.worst = std::max(fitted.worst, std::abs(found / (line.time_us.point * 1e-6) - 1));
  }
  return fitted;
}

}  // namespace sluice::analysis
