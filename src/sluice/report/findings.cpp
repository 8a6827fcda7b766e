// sluice/report/findings.cpp - what is said alike of loaders, training and diagnoses.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/findings.h"

#include "sluice/core/text.h"
#include "sluice/report/markdown_parts.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {

std::string shown(const measure::Measured<double>& figure, const char* format, double scale) {
  if (figure.value && std::isfinite(*figure.value))
    return fmt::format(fmt::runtime(format), *figure.value * scale);
  if (figure.reason.empty() || figure.reason == results::kMissingKey) return "n/a";
  return "n/a (" + printable(figure.reason) + ")";
}

std::string Unavailable::cell(const char* title, const measure::Measured<double>& figure,
                              const char* format, double scale) {
  if (figure.value && std::isfinite(*figure.value)) return shown(figure, format, scale);
  const std::string reason = figure.reason == results::kMissingKey ? "" : printable(figure.reason);
  auto known = std::find_if(by_reason_.begin(), by_reason_.end(),
                            [&](const auto& one) { return one.first == reason; });
  if (known == by_reason_.end()) known = by_reason_.insert(known, {reason, {}});
  known->second.emplace_back(title);
  return "n/a";
}

std::string Unavailable::text() const {
  std::vector<std::string> parts;
  for (const auto& [reason, titles] : by_reason_)
    parts.push_back(join(titles) + (reason.empty() ? "" : " (" + reason + ")"));
  return parts.empty() ? "" : wrapped("not available here: " + join(parts, "; "), 100, 2);
}

std::string checks_text(const std::vector<results::Check>& list, const char* heading) {
  if (list.empty()) return "";
  std::string out = fmt::format("\n{}\n", heading);
  for (const results::Check& check : list)
    out += fmt::format("  {} {} {}: {}\n",
                       check.mark == results::Mark::good  ? "✓"
                       : check.mark == results::Mark::bad ? "✗"
                                                          : "–",
                       printable(check.name), printable(check.target), printable(check.found));
  return out;
}

std::string stages_text(const std::vector<results::StageShare>& list) {
  if (list.empty()) return "";
  std::string out = fmt::format("\n{:<18} {:>10} {:>12} {:>16} {:>10}\n", "stage", "of workers",
                                "us/sample", "max samples/s", "MB/s");
  const auto cell = [&](const std::optional<double>& value, const char* format) {
    return value ? fmt::format(fmt::runtime(format), *value) : std::string("-");
  };
  for (const results::StageShare& line : list)
    out += fmt::format("{:<18} {:>8.1f} % {:>12.1f} {:>16} {:>10}\n", printable(line.stage),
                       line.share * 100, line.us_per_sample, cell(line.ceiling, "{:.0f}"),
                       cell(line.mb_per_s, "{:.1f}"));
  return out;
}

std::string findings_text(const std::vector<results::Finding>& list) {
  if (list.empty()) return "";
  std::string out = "\nDiagnosis\n";
  for (const results::Finding& finding : list) {
    out += "  " + printable(finding.diagnosis) + "\n";
    out += wrapped(printable(finding.evidence), 100, 4);
    if (!out.ends_with('\n')) out += '\n';
    for (const std::string& solution : finding.solutions)
      out += "    - " + printable(solution) + "\n";
  }
  return out;
}

std::string packing_text(const Json& run_config) {
  const Json& bundles = at(run_config, "bundles");
  const Json& seconds = at(bundles, "pack_seconds");
  const Json& size = at(bundles, "total_bytes");
  if (!seconds.is_number() || !size.is_number()) return "";
  if (!bundles.contains("kept")) return "";  // of earlier versions, which removed them
  const std::string gone = printable(string_at(bundles, "not_kept"));
  std::string out = fmt::format(
      "  packing took {:.1f} s{}, with reading or downloading the input; no rate here holds it\n",
      seconds.get<double>(), at(bundles, "kept") == true ? " in an earlier run" : "");
  if (gone.empty())
    return out + fmt::format("  {:.1f} MB stay in the cache: sluice data bundle --kept\n",
                             size.get<double>() / 1e6);
  return out + fmt::format("  {:.1f} MB were packed for this run alone: {}\n",
                           size.get<double>() / 1e6, gone);
}

std::string peer_ratio_text(const std::vector<results::PeerRatio>& ratios,
                            const std::string& case_name, const std::string& peer) {
  std::string text;
  for (const results::PeerRatio& one : ratios)
    if (one.case_name == case_name && one.peer == peer)
      text = fmt::format("  sluice is {:.2f} x ({:.2f} to {:.2f})", one.ratio.point, one.ratio.low,
                         one.ratio.high);
  return text;
}

std::string ratios_markdown(const std::vector<results::PeerRatio>& ratios, const char* at_what) {
  std::string out;
  for (const results::PeerRatio& one : ratios)
    out += fmt::format("- {:.2f}x faster {} than {} (95 % interval {:.2f} to {:.2f})\n",
                       one.ratio.point, at_what, escape_markdown(printable(one.peer)),
                       one.ratio.low, one.ratio.high);
  return out;
}

}  // namespace sluice::report
