// sluice/report/gate/selftest_text.cpp - shares with their intervals as aligned text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/selftest_text.h"

#include "sluice/report/format.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

using SelftestCells = std::vector<std::string>;

/// Left the first column, right the others.
std::string selftest_table(const std::vector<SelftestCells>& rows) {
  std::vector<bool> right(rows.front().size(), true);
  right[0] = false;
  return aligned(rows, right);
}

std::string share_cell(const gate::Share& share) {
  if (share.trials == 0) return std::string(kNone);
  const Json json = gate::to_json(share);
  const auto percent = [&](const char* key) { return 100 * json.at(key).get<double>(); };
  return fmt::format("{:.1f} % ({:.1f} to {:.1f})", percent("share"), percent("low"),
                     percent("high"));
}

std::string plain_percent(double share) {
  return fmt::format("{:g} %", 100 * share);
}

std::string looks_in_words(const gate::PairedOptions& options) {
  std::string words;
  for (std::size_t i = 0; i < options.looks.size(); ++i) {
    const bool last = i + 1 == options.looks.size();
    words += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(options.looks[i].pairs);
  }
  return words;
}

std::string gate_in_words(const gate::PairedOptions& options) {
  return fmt::format("paired gate: looks at {} pairs, tau {}, floor {}, alpha {:g}",
                     looks_in_words(options), plain_percent(options.tau),
                     plain_percent(options.floor), options.alpha);
}

}  // namespace

std::string selftest_text(const std::vector<gate::SelftestCondition>& conditions,
                          const gate::SelftestNoise& noise, const gate::PairedOptions& options) {
  std::vector<SelftestCells> rows = {{"slowdown", "trials", "FAIL, 95 % interval", "PASS",
                                      "IMPROVED", "INCONCLUSIVE", "alarms cleared", "pairs"}};
  for (const gate::SelftestCondition& one : conditions) {
    const std::string pairs =
        one.trials == 0 ? std::string(kNone)
                        : fmt::format("{:.1f}", static_cast<double>(one.pairs) / one.trials);
    rows.push_back({one.slowdown > 0 ? plain_percent(one.slowdown) : "none (A/A)",
                    fmt::format("{} of {}", one.trials, one.target),
                    share_cell(gate::failed_share(one)), std::to_string(one.passed),
                    std::to_string(one.improved), std::to_string(one.inconclusive),
                    std::to_string(one.cleared_alarms), pairs});
  }
  std::string text = gate_in_words(options) + "\n\n" + selftest_table(rows) + "\n";
  text += fmt::format("noise of a pair: sd {:.2f} %; smallest loss found with probability {:g}:",
                      100 * noise.sd, options.power);
  for (std::size_t i = 0; i < noise.mde.size(); ++i)
    text += fmt::format("{} {:.2f} % with {} pairs", i == 0 ? "" : ",", 100 * noise.mde[i],
                        options.looks[i].pairs);
  text += fmt::format("\na drop of {} needs {} pairs here\n", plain_percent(options.tau),
                      noise.needed_pairs);
  if (gate::cries_wolf(conditions, options))
    text += fmt::format("the gate cries wolf here: more false alarms than alpha {:g} allows\n",
                        options.alpha);
  return text;
}

std::string simulation_text(const std::vector<gate::SimulatedDesign>& table,
                            const gate::SimulationOptions& options) {
  SelftestCells titles = {"design", "runs", "false alarms"};
  for (const double slowdown : options.slowdowns)
    titles.push_back(fmt::format("finds -{}", plain_percent(slowdown)));
  std::vector<SelftestCells> rows = {titles};
  for (const gate::SimulatedDesign& one : table) {
    SelftestCells row = {one.name, fmt::format("{:.1f}", one.runs), share_cell(one.false_alarms)};
    for (const gate::Share& share : one.found)
      row.push_back(share_cell(share));
    rows.push_back(std::move(row));
  }
  return fmt::format("{}\nsimulated, {} trials each; 95 % intervals\n\n{}",
                     gate_in_words(options.gate), options.trials, selftest_table(rows));
}

std::string bisect_simulation_text(const std::vector<gate::SimulatedBisect>& table,
                                   const gate::BisectSimulationOptions& options) {
  std::vector<SelftestCells> rows = {{"slowdown", "the right commit", "a wrong one",
                                      "a range with it", "nothing named", "interval holds",
                                      "probes", "most", "pairs"}};
  for (const gate::SimulatedBisect& one : table)
    rows.push_back({one.slowdown > 0 ? plain_percent(one.slowdown) : "none", share_cell(one.right),
                    share_cell(one.wrong), share_cell(one.in_range), share_cell(one.no_verdict),
                    share_cell(one.interval_holds), fmt::format("{:.1f}", one.probes),
                    std::to_string(one.most_probes), fmt::format("{:.0f}", one.pairs)});
  return fmt::format(
      "bisect: one slow commit of {}, tau {}, risk {:g}\nsimulated, {} trials each; 95 % "
      "intervals\n\n{}",
      options.commits, plain_percent(options.search.tau), options.search.alpha, options.trials,
      selftest_table(rows));
}

}  // namespace sluice::report
