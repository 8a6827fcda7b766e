// sluice/measure/axes.cpp - axes to states.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/axes.h"

namespace sluice::measure {

std::vector<State> expand(const std::vector<Axis>& axes) {
  std::vector<State> states{State{}};
  for (const Axis& axis : axes) {
    std::vector<State> longer;
    for (const State& state : states) {
      for (const std::string& value : axis.values) {
        State next = state;
        next.values[axis.name] = value;
        longer.push_back(std::move(next));
      }
    }
    states = std::move(longer);
  }
  return states;
}

std::string case_name(const std::string& scenario, const State& state) {
  std::string name = scenario;
  for (const auto& [axis, value] : state.values)
    name += "/" + axis + "=" + value;
  return name;
}

}  // namespace sluice::measure
