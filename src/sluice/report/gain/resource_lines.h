// sluice/report/gain/resource_lines.h - the use of a machine over time: what is drawn, in every
// format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/resources.h"

#include <string>
#include <vector>

namespace sluice::report {

struct ResourceLine {
  std::string name;  // "CPU", "RAM", "GPU", "GPU memory"
  std::vector<double> at_s, values;
  double most = 1;    // the top of the drawing
  std::string top;    // that, in words: "100 % of 2 cores", "15.6 GiB"
  bool share = true;  // values are shares; else bytes

  /// "mean 62 %, highest 98 %".
  [[nodiscard]] std::string summary() const;
};

/// Those that were watched; none of lists that do not fit each other.
std::vector<ResourceLine> resource_lines(const results::ResourceUse& use);

/// "▁▃▇█", 40 characters at most; a mean each.
std::string sparkline(const ResourceLine& line);

}  // namespace sluice::report
