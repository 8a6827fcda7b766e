// sluice/analysis/world/step_model.h - a training step of many ranks, from a step of one and the
// links between them (docs/scale.md has the formulas).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/summaries.h"

#include <optional>
#include <vector>

namespace sluice::analysis {

/// What one rank has to others, in each direction.
struct Link {
  double bytes_per_s = 0;
  double latency_s = 0;  // of a hop
};

struct Cluster {
  int ranks = 1;
  int per_node = 1;  // ranks that share a node; 1: every rank is a node of its own
  Link between;      // nodes
  Link within;       // a node; unused with one rank a node
};

enum class SumAlgorithm : std::uint8_t { ring, tree };
const char* to_string(SumAlgorithm algorithm);

/// Of adding up `bytes` over all ranks. Between nodes a ring or a double tree, whichever is
/// shorter; in a node of several ranks a ring scatters before that, and gathers after it.
struct SumCost {
  double seconds = 0;
  SumAlgorithm algorithm = SumAlgorithm::ring;  // between the nodes, or within the only one
  double sent_between = 0, sent_within = 0;     // bytes that one rank sends
};
SumCost sum_cost(double bytes, const Cluster& cluster);

/// Gradients that are added up together.
struct GradientPiece {
  double bytes = 0;
  double ready_share = 1;  // of the last backward, after which they are whole
};

/// Of one rank alone, seconds.
struct MeasuredStep {
  double step_s = 0;
  double backward_s = 0;  // of it: the last backward, during which gradients become whole
  double samples = 0;
  std::vector<GradientPiece> pieces;  // in the order in which they become whole
  /// How much of a rank adding up takes: 0, backward goes on as before; 1, it stands still, as on
  /// CPUs, where the same cores do both.
  double contention = 0;
};

struct StepPrediction {
  int ranks = 1;
  double step_s = 0;
  double sums_s = 0;     // all pieces one after the other
  double exposed_s = 0;  // that the step is longer for it
  double efficiency = 1;
  double samples_per_s = 0;
  double sent_between = 0, sent_within = 0;     // bytes of one rank and step
  SumAlgorithm algorithm = SumAlgorithm::ring;  // of the largest piece
};

/// A piece is begun when backward has finished it and the one before is added up.
StepPrediction predict_step(const MeasuredStep& step, const Cluster& cluster);

/// A ring's link, from measured times: its latency from the smallest size, its bandwidth from the
/// sizes from `low_bytes` to `high_bytes` (all but the smallest where there is none), relative
/// errors squared.
struct FittedLink {
  Link link;
  std::size_t sizes = 0;  // that gave the bandwidth
  double worst = 0;       // relative error, of any of them
};
/// Nothing with fewer than two sizes.
std::optional<FittedLink> fitted_link(const results::AllreduceSummary& measured, double low_bytes,
                                      double high_bytes);

}  // namespace sluice::analysis
