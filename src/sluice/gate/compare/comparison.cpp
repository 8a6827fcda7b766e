// sluice/gate/compare/comparison.cpp - names and JSON of a comparison.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/compare/comparison.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

namespace sluice::gate {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json side_json(const std::optional<Side>& side) {
  if (!side) return nullptr;
  Json out{{"status", measure::to_string(side->status)}};
  if (!side->reason.empty()) out["reason"] = side->reason;
  out["runs"] = side->runs;
  out["value"] = or_null(side->value);
  return out;
}

Json row_json(const RowComparison& row) {
  Json ratio = nullptr;
  if (row.ratio_point) {
    ratio = {{"point", *row.ratio_point}, {"low", nullptr}, {"high", nullptr}};
    if (row.ratio) {
      ratio["low"] = row.ratio->low;
      ratio["high"] = row.ratio->high;
      ratio["confidence"] = row.ratio->confidence;
    }
  }
  return Json{{"case", row.case_name},
              {"params", row.params},
              {"library", row.library},
              {"unit", row.unit},
              {"better", measure::to_string(row.better)},
              {"base", side_json(row.base)},
              {"candidate", side_json(row.candidate)},
              {"ratio", ratio},
              {"p", or_null(row.p)},
              {"p_holm", or_null(row.p_holm)},
              {"mde", or_null(row.mde)},
              {"verdict", to_string(row.verdict)},
              {"missing", row.missing},
              {"reason", row.reason}};
}

Json rows_json(const std::vector<RowComparison>& rows) {
  Json out = Json::array();
  for (const RowComparison& row : rows)
    out.push_back(row_json(row));
  return out;
}

}  // namespace

std::string label(const RowComparison& row) {
  std::vector<std::string> missing;
  for (const auto& [name, value] : row.params) {
    std::string text = fmt::format("{}={}", name, value);
    // Cases of the matrix name their transform without its key.
    const std::string& said = name == "transform" ? value : text;
    if (row.case_name.find(said) == std::string::npos) missing.push_back(std::move(text));
  }
  return missing.empty() ? row.case_name : fmt::format("{} ({})", row.case_name, join(missing));
}

Json to_json(const Comparison& comparison) {
  const CompareOptions& options = comparison.options;
  const Counts& counts = comparison.counts;
  return Json{{"base", comparison.base_name},
              {"candidate", comparison.candidate_name},
              {"options",
               {{"threshold", options.threshold},
                {"alpha", options.alpha},
                {"confidence", options.confidence},
                {"power", options.power},
                {"allow_missing", options.allow_missing},
                {"min_runs", options.min_runs}}},
              {"warnings", comparison.warnings},
              {"rows", rows_json(comparison.rows)},
              {"machine", rows_json(comparison.machine)},
              {"counts",
               {{"FAIL", counts.fail},
                {"missing", counts.missing},
                {"IMPROVED", counts.improved},
                {"PASS", counts.pass},
                {"INCONCLUSIVE", counts.inconclusive},
                {"INVALID", counts.invalid},
                {"SKIP", counts.skip}}},
              {"verdict", to_string(comparison.outcome)},
              {"summary", comparison.summary}};
}

}  // namespace sluice::gate
