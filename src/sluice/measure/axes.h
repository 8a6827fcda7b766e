// sluice/measure/axes.h - the points at which a scenario is measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sluice::measure {

/// One dimension: a name and the values it takes, in order.
struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/// One point: the value of every axis.
struct State {
  std::map<std::string, std::string> values;
};

/// The cartesian product, last axis fastest; no axes give one empty state, an axis without values
/// none.
std::vector<State> expand(const std::vector<Axis>& axes);

/// Stable name of a state: `scenario/axis=value/...`, axes sorted by name.
std::string case_name(const std::string& scenario, const State& state);

}  // namespace sluice::measure
