// sluice/report/gate/bisect_text.cpp - probes as an aligned table, in the order of the history.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/bisect_text.h"

#include "sluice/core/text.h"
#include "sluice/gate/pairs/paired_rule.h"
#include "sluice/report/format.h"
#include "sluice/report/paint.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sluice::report {
namespace {

constexpr std::size_t kCommitDigits = 12;
constexpr std::size_t kSubjectColumns = 50;

std::string commit_cell(const gate::BisectCommit& commit) {
  return commit.sha.substr(0, kCommitDigits);
}

std::string subject_cell(const gate::BisectCommit& commit) {
  std::string text = printable(commit.subject);
  if (text.size() <= kSubjectColumns) return text;
  std::size_t end = kSubjectColumns;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;  // not in the middle of a character
  return text.substr(0, end) + "...";
}

std::vector<std::string> probe_cells(const gate::BisectRecord& record,
                                     const gate::BisectProbe& probe) {
  const gate::BisectCommit& commit = record.commits[probe.revision];
  std::vector<std::string> cells = {std::to_string(probe.revision),
                                    commit_cell(commit),
                                    std::string(kNone),
                                    std::string(kNone),
                                    std::string(kNone),
                                    gate::to_string(probe.verdict),
                                    subject_cell(commit)};
  if (probe.pairs > 0) {
    cells[2] = std::to_string(probe.pairs);
    cells[3] = fmt::format("{:+.2f} %", 100 * gate::speed_change(probe.estimate));
    cells[4] = fmt::format("{:+.2f} to {:+.2f} %", 100 * gate::speed_change(probe.low),
                           100 * gate::speed_change(probe.high));
  }
  return cells;
}

}  // namespace

std::string bisect_text(const gate::BisectRecord& record, const TextOptions& options) {
  const gate::BisectState& state = record.state;
  const Paint paint(options.colour);
  std::string text = fmt::format(
      "GOOD  {} {}\nBAD   {} {}\n{} commits, {} of {}, each in pairs with GOOD\n\n",
      commit_cell(record.commits.front()), subject_cell(record.commits.front()),
      commit_cell(record.commits.back()), subject_cell(record.commits.back()), state.commits,
      printable(record.question.metric), printable(record.question.command));
  std::vector<const gate::BisectProbe*> probes;
  for (const gate::BisectProbe& probe : state.probes)
    probes.push_back(&probe);
  std::sort(probes.begin(), probes.end(),
            [](const auto* a, const auto* b) { return a->revision < b->revision; });
  std::vector<std::vector<std::string>> rows = {
      {"#", "commit", "pairs", "speed", "interval", "is", "subject"}};
  for (const gate::BisectProbe* probe : probes)
    rows.push_back(probe_cells(record, *probe));
  text += aligned(rows, {true, false, true, true, true, false, false});
  for (const gate::BisectProbe* probe : probes)
    if (!probe->reason.empty())
      text += wrapped(fmt::format("{}: {}", probe->revision, printable(probe->reason)),
                      options.width, 2);
  if (text.back() != '\n') text += "\n";
  if (state.border != 0)
    text += fmt::format("\nbad: shown to lose more than {:.2f} % of GOOD's speed\n",
                        -100 * gate::speed_change(state.border));
  text += "\n" + paint(kBold, gate::summary_of(record)) + "\n";
  if (const std::string again = gate::reproduce(record); !again.empty())
    text += "again: " + again + "\n";
  return text;
}

}  // namespace sluice::report
