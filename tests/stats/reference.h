// tests/stats/reference.h - reads the checked-in values of tools/stats_reference.py.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/stats/sample.h"

#include <gtest/gtest.h>

#include "tests/places.h"
#include <cmath>
#include <string>
#include <vector>

namespace sluice::stats {

inline const Json& reference() {
  static const Json document = [] {
    const auto text = read_text_file(testing_support::source_dir() / "tests/stats/reference.json");
    if (!text) return Json();
    auto json = parse_json(*text, "reference.json");
    return json ? *json : Json();
  }();
  return document;
}

/// The cases under `key`; fails the test when there are fewer than a test can be trusted with.
inline const Json& cases(const std::string& key) {
  static const Json none = Json::array();
  if (!reference().contains(key) || reference()[key].size() < 3) {
    ADD_FAILURE() << "reference.json has no cases '" << key << "'";
    return none;
  }
  return reference()[key];
}

inline std::vector<double> numbers(const Json& json) {
  return json.get<std::vector<double>>();
}

inline Alternative alternative(const std::string& name) {
  return name == "less"      ? Alternative::less
         : name == "greater" ? Alternative::greater
                             : Alternative::two_sided;
}
inline const std::vector<std::string> kAlternatives{"two-sided", "less", "greater"};

/// `actual` has a value within `tolerance`, relative to the expected one (absolute below `floor`).
inline void expect_near(const Result<double>& actual, double expected, const Json& where,
                        double tolerance = 1e-9, double floor = 1e-300) {
  ASSERT_TRUE(actual.has_value()) << actual.error().message << " in " << where;
  EXPECT_LE(std::abs(*actual - expected), tolerance * std::max(std::abs(expected), floor))
      << *actual << " instead of " << expected << " in " << where;
}

}  // namespace sluice::stats
