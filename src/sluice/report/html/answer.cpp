// sluice/report/html/answer.cpp - which answer a section has, and the words that all of them share.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/html/answer.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/versus.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice::report {
namespace {

constexpr std::size_t kMostAdvice = 3;

const measure::Row* row_of(const results::ResultFile& file, const results::PeerRatio& ratio) {
  for (const measure::Row& row : file.rows)
    if (row.case_name == ratio.case_name && row.library == ratio.peer) return &row;
  return nullptr;
}

/// "decode/jpeg/threads=1: 967.1 ± 1.8 img/s (951.1 to 983.3)".
std::string row_words(const Line& line) {
  const measure::Row& row = *line.row;
  const std::string interval = interval_cell(row);
  std::string out = clip(case_cell(row), 80) + " in " + clip(library_cell(row), 40) + ": " +
                    median_cell(row) + (interval == kNone ? "" : " (" + interval + ")");
  if (line.behind) out += "; ours is " + ratio_text(*line.behind) + " as fast";
  return out;
}

/// It has runs, but not all that were asked for.
bool broken_off(const measure::Row& row) {
  return row.status == measure::RowStatus::skipped && !row.runs.empty();
}

std::vector<std::string> rows_next(const Section& section) {
  const auto any = [&](auto holds) {
    return std::any_of(section.rows.begin(), section.rows.end(),
                       [&](const Line& line) { return holds(*line.row); });
  };
  std::vector<std::string> next;
  if (any(broken_off))
    next.emplace_back("The same command with --resume goes on where rows were broken off.");
  if (any([](const measure::Row& row) { return row.status == measure::RowStatus::failed; }))
    next.emplace_back("The folder logs of the run says why rows failed.");
  if (any([](const measure::Row& row) { return has_summary(row) && row.summary->unstable; }))
    next.emplace_back("`sluice env` says what disturbs this machine: some rows are unstable.");
  if (next.empty())
    next.emplace_back("After a change, measure again: `sluice compare` tells which rows moved.");
  return next;
}

std::vector<measure::Row> comparable_copies(const Section& section) {
  std::vector<measure::Row> rows;
  for (const Line& line : section.rows)
    if (line.row->not_comparable.empty()) rows.push_back(*line.row);
  return rows;
}

std::string rows_headline(const Section& section) {
  const auto measured = std::count_if(
      section.rows.begin(), section.rows.end(),
      [](const Line& line) { return has_summary(*line.row) && !broken_off(*line.row); });
  if (section.rows.empty()) return "No row was measured.";
  if (section.several_libraries) {
    const std::vector<measure::Row> rows = comparable_copies(section);
    std::vector<results::Versus> list = analysis::versus_fastest(rows);
    std::erase_if(list, [](const results::Versus& one) { return !one.ratio; });
    if (list.size() == 1)
      return fmt::format("{}: {} {}, {} {}", clip(printable(list[0].case_name), 80),
                         figure(list[0].rate), printable(section.rows.front().row->unit),
                         significant(list[0].ratio->point, 3) + "× as fast as",
                         printable(list[0].peer));
    if (!list.empty()) {
      const results::VersusSummary sum = analysis::summarise(list, rows);
      std::string out = "sluice is " + standings_words(sum, "cases");
      if (sum.geomean)
        out += fmt::format(": {}× in the geometric mean", significant(sum.geomean->point, 3));
      return out;
    }
  }
  if (section.rows.size() == 1 && measured == 1) return row_words(section.rows.front());
  std::vector<double> spreads;
  for (const Line& line : section.rows)
    if (has_summary(*line.row) && line.row->summary->n_runs > 1 && line.row->summary->cv >= 0)
      spreads.push_back(line.row->summary->cv);
  std::sort(spreads.begin(), spreads.end());
  return fmt::format("{} of {} rows were measured{}", measured, section.rows.size(),
                     spreads.empty() ? ""
                                     : fmt::format("; runs typically differ by {}",
                                                   percent(quantile(spreads, 0.5))));
}

}  // namespace

std::string figure(double value) {
  return significant(value, 4);
}

std::string whole(double value) {
  return integer(std::llround(std::clamp(value, -9e15, 9e15)));
}

std::optional<results::PeerRatio> best_peer(const results::ResultFile& file) {
  std::optional<results::PeerRatio> best;
  const auto& ratios = file.peer_ratios.empty() ? analysis::peer_ratios(file) : file.peer_ratios;
  for (const results::PeerRatio& one : ratios) {
    const measure::Row* row = row_of(file, one);
    if (one.peer == analysis::kYardstick || one.library != kOurs) continue;
    if (row != nullptr && !row->not_comparable.empty()) continue;
    if (!best || one.ratio.point < best->ratio.point) best = one;
  }
  return best;
}

std::string peer_words(const results::ResultFile& file, const results::PeerRatio& peer) {
  std::set<std::string> peers;
  for (const results::PeerRatio& one : file.peer_ratios)
    peers.insert(one.peer);
  return fmt::format(
      "{} as fast as {}{}", ratio_text(peer.ratio), printable(peer.peer),
      peers.size() > 1 ? fmt::format(", the fastest of {} beside it", peers.size()) : "");
}

std::vector<std::string> first_advice(const std::vector<results::Finding>& findings) {
  std::vector<std::string> next;
  for (const results::Finding& finding : findings)
    if (!finding.solutions.empty() && next.size() < kMostAdvice)
      next.push_back(printable(finding.solutions.front()));
  return next;
}

const measure::Row* only_row(const results::ResultFile& file, const std::string& case_name) {
  const measure::Row* found = nullptr;
  for (const measure::Row& row : file.rows) {
    const bool ours = row.library == kOurs || row.library == "program";
    if (!ours || !has_summary(row) || (!case_name.empty() && row.case_name != case_name)) continue;
    if (found != nullptr) return nullptr;
    found = &row;
  }
  return found;
}

std::string standings_words(const results::VersusSummary& sum, const char* what) {
  std::string out = fmt::format("faster than the fastest other library in {} of {} {}", sum.wins,
                                sum.rows - sum.alone - sum.different, what);
  if (sum.ties > 0) out += fmt::format(", level in {}", sum.ties);
  if (sum.losses > 0) out += fmt::format(", slower in {}", sum.losses);
  return out;
}

Answer rows_answer(const Section& section) {
  Answer answer{rows_headline(section), {}, rows_next(section)};
  constexpr std::size_t kMostRows = 4;
  for (const Line& line : section.rows)
    if (has_summary(*line.row) && answer.reasons.size() < kMostRows && section.rows.size() > 1)
      answer.reasons.push_back(row_words(line));
  return answer;
}

std::vector<Answer> answers(const Section& section) {
  using Kind = std::optional<Answer> (*)(const results::ResultFile&);
  constexpr Kind kKinds[] = {tour_answer,    diagnosis_answer, tune_answer,    loader_answer,
                             mixture_answer, training_answer,  storage_answer, allreduce_answer};
  std::vector<Answer> all;
  for (const results::ResultFile* file : section.files) {
    for (const Kind kind : kKinds) {
      std::optional<Answer> one = kind(*file);
      if (!one) continue;
      all.push_back(std::move(*one));
      break;
    }
  }
  if (all.empty()) all.push_back(rows_answer(section));
  return all;
}

}  // namespace sluice::report
