// adapters/cpp/opencv_params.cpp - reading canonical parameters strictly.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "adapters/cpp/opencv_recipes.h"
#include <cmath>
#include <stdexcept>

namespace sluice::opencv {
namespace {

[[noreturn]] void refuse(const char* key, const std::string& accepted) {
  throw std::invalid_argument(
      fmt::format("spec.params has no usable '{}': {} is accepted", key, accepted));
}

bool is_number(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>());
}

bool is_integer(const Json& value, int low, int high) {
  return value.is_number_integer() && value.get<std::int64_t>() >= low &&
         value.get<std::int64_t>() <= high;
}

}  // namespace

const Json& Params::at(const char* key) const {
  static const Json kNothing;
  const auto found = values_.find(key);
  return found == values_.end() ? kNothing : *found;
}

double Params::number(const char* key) const {
  if (!is_number(at(key))) refuse(key, "a number");
  return at(key).get<double>();
}

int Params::integer(const char* key, int low, int high) const {
  if (!is_integer(at(key), low, high)) refuse(key, fmt::format("{} to {}", low, high));
  return at(key).get<int>();
}

Params::Range Params::range(const char* key) const {
  const Json& value = at(key);
  if (!value.is_array() || value.size() != 2 || !is_number(value[0]) || !is_number(value[1]) ||
      value[0].get<double>() > value[1].get<double>())
    refuse(key, "[low, high]");
  return {value[0].get<double>(), value[1].get<double>()};
}

Params::Pair Params::pair(const char* key, int low, int high) const {
  const Json& value = at(key);
  if (!value.is_array() || value.size() != 2 || !is_integer(value[0], low, high) ||
      !is_integer(value[1], low, high))
    refuse(key, fmt::format("a list of two whole numbers from {} to {}", low, high));
  return {value[0].get<int>(), value[1].get<int>()};
}

int draw_integer(Rng& rng, int low, int high) {
  return low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low) + 1));
}

}  // namespace sluice::opencv
