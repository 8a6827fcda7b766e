// sluice/gate/baseline/tolerances.cpp - one table of tolerances: names, presets, ranges.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/tolerances.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace sluice::gate {
namespace {

constexpr std::array kFields = {
    ToleranceField{"throughput_drop_pct", &Tolerances::throughput_drop_pct, "%", false, 2, 10,
                   "largest drop of the median tokens per second, in per cent"},
    ToleranceField{"step_time_increase_pct", &Tolerances::step_time_increase_pct, "%", false, 2, 10,
                   "largest rise of the median step time, in per cent"},
    ToleranceField{"memory_increase_pct", &Tolerances::memory_increase_pct, "%", false, 5, 20,
                   "largest rise of the peak memory, in per cent; more is a warning"},
    ToleranceField{"ppl_increase_pct", &Tolerances::ppl_increase_pct, "%", false, 0.5, 3,
                   "largest rise of the perplexity, in per cent"},
    ToleranceField{"probe_drop_abs", &Tolerances::probe_drop_abs, "points", true, 1, 5,
                   "largest drop of a probe's accuracy, in percentage points"},
    ToleranceField{"loss_slope_threshold", &Tolerances::loss_slope_threshold, "", false, 1e-3, 1e-3,
                   "largest slope of the loss over the steps"},
};

bool in_range(double value, bool zero_allowed) {
  return std::isfinite(value) && (zero_allowed ? value >= 0 : value > 0);
}

Error out_of_range(const char* name, double value, bool zero_allowed) {
  return Error{Errc::usage, fmt::format("tolerance {}: {} is not {}", name, value,
                                        zero_allowed ? "0 or above" : "above 0")};
}

}  // namespace

std::span<const ToleranceField> tolerance_fields() {
  return kFields;
}

Result<Tolerances> tolerance_preset(std::string_view name) {
  Tolerances tolerances;
  if (name == "default") return tolerances;
  const bool strict = name == "strict";
  if (!strict && name != "lenient")
    return Error{Errc::usage, fmt::format("tolerances '{}': expected default, strict or lenient",
                                          printable(name))};
  for (const ToleranceField& field : kFields)
    tolerances.*field.value = strict ? field.strict : field.lenient;
  return tolerances;
}

Status check(const Tolerances& tolerances) {
  for (const ToleranceField& field : kFields) {
    if (!in_range(tolerances.*field.value, field.zero_allowed))
      return out_of_range(field.name, tolerances.*field.value, field.zero_allowed);
  }
  if (const auto& p90 = tolerances.step_time_p90_increase_pct; p90 && !in_range(*p90, false))
    return out_of_range(kP90Tolerance, *p90, false);
  return ok;
}

Json to_json(const Tolerances& tolerances) {
  Json json = Json::object();
  for (const ToleranceField& field : kFields)
    json[field.name] = tolerances.*field.value;
  const auto& p90 = tolerances.step_time_p90_increase_pct;
  json[kP90Tolerance] = p90 ? Json(*p90) : Json(nullptr);
  return json;
}

}  // namespace sluice::gate
