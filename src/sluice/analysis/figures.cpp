// sluice/analysis/figures.cpp - values that may be missing, as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/figures.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::analysis {
namespace {

const char* mark_of(const Json& check) {
  const std::string status = text_at(check, "status");
  return status == "pass" ? "✓" : status == "fail" ? "✗" : "–";
}

}  // namespace

std::string text_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_string() ? printable(value.get<std::string>()) : "";
}

double number_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_number() ? value.get<double>() : NAN;
}

std::string shown(const Json& metrics, const std::string& key, const char* format, double scale) {
  const double value = number_at(metrics, key.c_str());
  if (std::isfinite(value)) return fmt::format(fmt::runtime(format), value * scale);
  const std::string reason = text_at(metrics, (key + "_reason").c_str());
  return reason.empty() ? "n/a" : "n/a (" + reason + ")";
}

std::string checks(const Json& list, const char* heading) {
  if (!list.is_array() || list.empty()) return "";
  std::string out = fmt::format("\n{}\n", heading);
  for (const Json& check : list)
    out += fmt::format("  {} {} {}: {}\n", mark_of(check), text_at(check, "name"),
                       text_at(check, "target"), text_at(check, "found"));
  return out;
}

}  // namespace sluice::analysis
