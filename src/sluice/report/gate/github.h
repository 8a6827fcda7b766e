// sluice/report/gate/github.h - what a gate leaves on GitHub: step summary, annotations, one
// comment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/gate/gate_report.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::report {

/// First line of the comment: how the comment of an earlier run is found again, and edited.
inline constexpr std::string_view kCommentMarker = "<!-- sluice-perf-gate -->";

// GitHub drops what is longer: 1 MiB per step summary, 65,536 characters per comment, ten errors
// and ten warnings per step. Lines that do not fit are counted, worst are first.
inline constexpr std::size_t kSummaryBytes = std::size_t{900} << 10;
inline constexpr std::size_t kCommentBytes = 60'000;
inline constexpr std::size_t kAnnotations = 10;  // of each kind

/// Markdown for $GITHUB_STEP_SUMMARY: a table per report, then the sentences of what did not pass,
/// what pairs could see, and the command that measures it again. `site`: address of the pages of
/// `sluice history`, linked at the end; empty: none.
std::string github_summary(const std::vector<gate::GateReport>& reports,
                           const std::string& site = "");

/// One workflow command per line that failed (::error) or is in doubt (::warning); a report that
/// judged nothing gives one warning.
std::string github_annotations(const std::vector<gate::GateReport>& reports);

/// The marker and a short summary; passing lines and commands are folded. GitLab shows it as well.
std::string github_comment(const std::vector<gate::GateReport>& reports,
                           const std::string& site = "");

/// An address that may be linked: http or https, no blanks, quotes or brackets, at most 500 bytes.
/// Errc::usage, in the name of `flag`.
Status check_site(const std::string& site, const std::string& flag);

/// Text after `::` of a workflow command, and text of a property of one.
std::string escape_command_data(std::string_view text);
std::string escape_command_property(std::string_view text);

}  // namespace sluice::report
