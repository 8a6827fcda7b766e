// sluice/measure/stop_rule.h - when a row has enough runs. Pure: decides from numbers alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/policy.h"

#include <memory>
#include <vector>

namespace sluice::measure {

class StopRule {
 public:
  virtual ~StopRule() = default;
  /// `run_rates`: one value per finished run of the row. `elapsed_s`: since the wave began.
  [[nodiscard]] virtual bool finished(const std::vector<double>& run_rates,
                                      double elapsed_s) const = 0;
};

std::unique_ptr<StopRule> make_stop_rule(const Policy& policy);

}  // namespace sluice::measure
