// sluice/measure/reply.cpp - strict reading: nothing is converted, nothing is guessed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/reply.h"

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

/// Totals over the samples so far, hence replaced, not added.
Status read_counters(Run& run, const Reply& reply) {
  const Json& fields = reply.field("counters");
  if (!fields.is_object()) {
    run.counters.value.reset();
    SLUICE_TRY(run.counters.reason, reply.text("counters_reason", "the worker counts none"));
    return ok;
  }
  const Reply counters("measure: counters", fields);
  SLUICE_TRY(const auto cycles, counters.integer("cycles", 0));
  SLUICE_TRY(const auto instructions, counters.integer("instructions", 0));
  SLUICE_TRY(const auto cache_misses, counters.integer("cache_misses", 0));
  SLUICE_TRY(const auto branch_misses, counters.integer("branch_misses", 0));
  const auto count = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  run.counters = {HardwareCounters{count(cycles), count(instructions), count(cache_misses),
                                   count(branch_misses)},
                  ""};
  return ok;
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

Status add_sample(Run& run, const Reply& reply, std::int64_t items_asked) {
  SLUICE_TRY(const auto samples, reply.samples("samples_ns"));
  SLUICE_CHECK(reply.integer("items_per_sample", items_asked, items_asked));
  SLUICE_TRY(const auto start_ns, reply.integer("start_ns", 0));
  if (run.samples_ns.empty()) run.start_ns = start_ns;
  run.samples_ns.insert(run.samples_ns.end(), samples.begin(), samples.end());
  constexpr std::int64_t kMaxCount = std::numeric_limits<int>::max();
  SLUICE_TRY(const auto warmup, reply.integer("warmup_passes", 0, kLongestNs, 0));
  run.warmup_discarded = static_cast<int>(std::min(kMaxCount, run.warmup_discarded + warmup));
  SLUICE_TRY(const auto cpu_ns, reply.integer("cpu_ns", 0, kLongestNs));
  run.cpu_ns += cpu_ns;
  SLUICE_TRY(const auto faults, reply.integer("major_faults", 0, kLongestNs, 0));
  run.major_faults += faults;
  SLUICE_TRY(const auto switches, reply.integer("involuntary_switches", 0, kLongestNs, 0));
  run.involuntary_switches += switches;
  SLUICE_TRY(const bool throttled, reply.boolean("throttled", false));
  run.throttled = run.throttled || throttled;
  if (const Json& details = reply.field("details"); details.is_object())
    run.details.push_back(details);
  return read_counters(run, reply);
}

}  // namespace sluice::measure
