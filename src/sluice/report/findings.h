// sluice/report/findings.h - figures, stages, checks and findings of a result file as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/results/conclusions.h"

#include <string>
#include <utility>
#include <vector>

namespace sluice::report {

/// The figure times `scale` by `format`, or "n/a (reason)".
std::string shown(const measure::Measured<double>& figure, const char* format, double scale = 1);
/// Names figures that this run has not, so that a list shows only what there is.
class Unavailable {
 public:
  /// The figure by `format`; without one "n/a", and `title` is named in text().
  std::string cell(const char* title, const measure::Measured<double>& figure, const char* format,
                   double scale = 1);
  /// "not available here: a, b (no GPU); c (not sampled)", wrapped; empty without any.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason_;
};
/// Targets or indicators, one line each with ✓, ✗ or –; empty without any.
std::string checks_text(const std::vector<results::Check>& list, const char* heading);
/// What the workers of a loader did; empty without any.
std::string stages_text(const std::vector<results::StageShare>& list);
/// What it is, why, what to do; empty without any.
std::string findings_text(const std::vector<results::Finding>& list);
/// What packing the bundles of a run took, with the download of a bucket, which none of its rates
/// holds, and where they are now; empty without bundles.
std::string packing_text(const Json& run_config);
/// "  sluice is 1.20 x (1.10 to 1.30)" of the peer in the case; empty without that ratio.
std::string peer_ratio_text(const std::vector<results::PeerRatio>& ratios,
                            const std::string& case_name, const std::string& peer);
/// "- 1.20x faster data loading than torch (95 % interval 1.10 to 1.30)", a line for every peer.
std::string ratios_markdown(const std::vector<results::PeerRatio>& ratios, const char* at_what);

}  // namespace sluice::report
