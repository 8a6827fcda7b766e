// sluice/gate/baseline/fence.h - the prediction fence: where the next visit should lie, by all
// visits stored before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/history.h"
#include "sluice/gate/gate_report.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::gate {

struct FenceOptions {
  double alpha = 0.01;  // chance that a visit without any change lies beyond the fence
  double floor = 0.01;  // smallest change for the worse that counts, however narrow the fence
  std::size_t least_visits = 20;      // below: nothing is judged
  std::size_t least_for_canary = 10;  // below: the canary is left out
};

/// In logarithms of the figure: r = y − beta · (canary − its mean over the visits).
struct Fence {
  std::size_t visits = 0;  // that went into it
  double beta = 0;         // least squares of y over the canary, clipped to [0, 1]
  double centre = 0;       // mean of r
  double spread = 0;       // 1.4826 · MAD of r; their standard deviation where that is 0
  double half_width = 0;   // t quantile · spread · sqrt(1 + 1/visits)
  double narrowed = 0;     // 1 − half_width / that without the canary; may be below 0
  double canary_mean = 0;
};

/// Of the visits with the figure above 0. A visit without a canary of `canary_version` (empty: none
/// has one) counts as if its canary had been the mean. Errc::not_found below least_visits, with a
/// message that says how many there are.
Result<Fence> make_fence(const std::vector<Visit>& history, const std::string& figure,
                         const std::optional<std::string>& canary_version,
                         const FenceOptions& options = {});

/// The line `fence/<figure>`. `worse`: the sign of a change for the worse. Baseline is the centre
/// of the fence for this visit's canary, `details` holds the fence and a note on how much the
/// canary narrowed it; SKIP with the reason where there is no fence yet.
GateLine fence_line(const std::vector<Visit>& history, const Visit& current,
                    const std::string& figure, int worse, const FenceOptions& options = {});

}  // namespace sluice::gate
