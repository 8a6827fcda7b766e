// sluice/measure/stop_rule.h - when a row has enough runs. Pure: decides from numbers alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/policy.h"
#include "sluice/measure/record.h"

#include <memory>
#include <vector>

namespace sluice::measure {

class StopRule {
 public:
  virtual ~StopRule() = default;
  /// `rates`: one value per finished run of the row. `elapsed_s`: since the wave began.
  [[nodiscard]] virtual bool finished(const std::vector<double>& rates, double elapsed_s) const = 0;
};

std::unique_ptr<StopRule> make_stop_rule(const Policy& policy);
/// What that rule looks at: a rate per run, of its median sample for StopKind::usual, of all its
/// time for the others.
std::vector<double> rates_for(StopKind kind, const Row& row);

}  // namespace sluice::measure
