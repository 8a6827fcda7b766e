// sluice/measure/worker/reply.cpp - strict reading: nothing is converted, nothing is guessed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/reply.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

namespace sluice::measure {
namespace {

constexpr std::size_t kMaxTextBytes = 1000;

/// False for fractions, and for integers that 64 signed bits do not hold.
bool read_integer(const Json& value, std::int64_t& integer) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return false;
  }
  integer = value.get<std::int64_t>();
  return true;
}

std::string in_words(const Json& value) {
  constexpr std::size_t kShown = 60;
  const std::string text = dump_json(value, -1);
  return printable(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "");
}

}  // namespace

const Json& Reply::field(const char* key) const {
  static const Json kMissing;
  const auto found = fields_.find(key);
  return found == fields_.end() ? kMissing : *found;
}

Error Reply::wrong(const char* key, const std::string& accepted) const {
  const Json& value = field(key);
  return {Errc::measurement, fmt::format("{}: {} is {}; expected {}", step_, key,
                                         value.is_null() ? "missing" : in_words(value), accepted)};
}

Result<std::int64_t> Reply::integer(const char* key, std::int64_t low, std::int64_t high,
                                    std::optional<std::int64_t> fallback) const {
  if (fallback && field(key).is_null()) return *fallback;
  std::int64_t value = 0;
  if (!read_integer(field(key), value) || value < low || value > high) {
    return wrong(key, high == std::numeric_limits<std::int64_t>::max()
                          ? fmt::format("an integer of at least {}", low)
                          : fmt::format("an integer from {} to {}", low, high));
  }
  return value;
}

Result<double> Reply::number(const char* key, double fallback) const {
  const Json& value = field(key);
  if (value.is_null()) return fallback;
  if (!value.is_number() || value.get<double>() < 0) return wrong(key, "a number of at least 0");
  return value.get<double>();
}

Result<bool> Reply::boolean(const char* key, bool fallback) const {
  const Json& value = field(key);
  if (value.is_null()) return fallback;
  if (!value.is_boolean()) return wrong(key, "true or false");
  return value.get<bool>();
}

Result<std::string> Reply::text(const char* key, std::optional<std::string> fallback) const {
  const Json& value = field(key);
  if (fallback && value.is_null()) return *fallback;
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxTextBytes)
    return wrong(key, fmt::format("a string of at most {} bytes", kMaxTextBytes));
  return value.get<std::string>();
}

Result<std::vector<std::int64_t>> Reply::samples(const char* key) const {
  const auto refuse = [&] {
    return wrong(key, fmt::format("a list of one or more integers from 1 to {}", kLongestNs));
  };
  const Json& list = field(key);
  if (!list.is_array() || list.empty()) return refuse();
  std::vector<std::int64_t> samples;
  for (const Json& item : list) {
    std::int64_t ns = 0;
    if (!read_integer(item, ns) || ns < 1 || ns > kLongestNs) return refuse();
    samples.push_back(ns);
  }
  return samples;
}

}  // namespace sluice::measure
