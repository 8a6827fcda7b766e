// sluice/report/sections.cpp - result files arranged for reading, and the cells every renderer
// shows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/sections.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/matrix/regime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace sluice::report {
namespace {

using measure::Better;
using measure::Row;

bool better_than(const Row& a, const Row& b) {
  return a.better == Better::higher ? a.summary->median > b.summary->median
                                    : a.summary->median < b.summary->median;
}

bool comparable(const Row& a, const Row& b) {
  return a.unit == b.unit && a.better == b.better;
}

/// Rows in the order of first appearance of their case.
std::vector<Line> by_case(const std::vector<const Row*>& rows) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Row*>> cases;
  for (const Row* row : rows) {
    auto& group = cases[row->case_name];
    if (group.empty()) order.push_back(row->case_name);
    group.push_back(row);
  }
  std::vector<Line> lines;
  for (const auto& name : order) {
    for (const Row* row : cases[name])
      lines.push_back(Line{row, false, std::nullopt});
  }
  return lines;
}

bool same_runs(const Row& a, const Row& b) {
  return a.case_name == b.case_name && a.library == b.library && !a.runs.empty() &&
         !b.runs.empty() && a.runs.front().run_id == b.runs.front().run_id;
}

void mark_best(std::vector<Line>& lines) {
  for (std::size_t first = 0; first < lines.size();) {
    std::size_t end = first;
    while (end < lines.size() && lines[end].row->case_name == lines[first].row->case_name)
      ++end;
    std::set<std::string> libraries;
    const Row* best = nullptr;
    bool same_kind = true;
    for (std::size_t i = first; i < end; ++i) {
      const Row& row = *lines[i].row;
      if (row.status != measure::RowStatus::ok || !has_summary(row)) continue;
      libraries.insert(row.library);
      same_kind = same_kind && (best == nullptr || comparable(*best, row));
      if (best == nullptr || better_than(row, *best)) best = &row;
    }
    for (std::size_t i = first; i < end && same_kind && libraries.size() > 1; ++i) {
      const Row& row = *lines[i].row;
      if (row.status != measure::RowStatus::ok || !has_summary(row)) continue;
      lines[i].best = &row == best || intervals_overlap(row, *best);
    }
    first = end;
  }
}

/// Rows of one file were measured in pairs with ours.
void mark_behind(Section& section) {
  for (const results::ResultFile* file : section.files) {
    for (const analysis::PeerRatio& ratio : analysis::peer_ratios(*file)) {
      const auto same = [&](const Line& line) {
        return line.row >= file->rows.data() && line.row < file->rows.data() + file->rows.size() &&
               line.row->case_name == ratio.case_name && line.row->library == ratio.peer;
      };
      const auto line = std::find_if(section.rows.begin(), section.rows.end(), same);
      if (line != section.rows.end()) line->behind = ratio.ratio;
    }
  }
}

}  // namespace

Split split_files(const std::vector<results::ResultFile>& files) {
  Split split;
  for (const auto& file : files)
    (is_matrix(file) ? split.matrix : split.plain).push_back(&file);
  return split;
}

std::vector<Section> sections(const std::vector<const results::ResultFile*>& files) {
  std::vector<Section> all;
  for (const auto* file : files) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Section& section) {
      return section.head().session_id == file->session_id &&
             section.head().machine_profile == file->machine_profile;
    });
    Section& section = found == all.end() ? all.emplace_back() : *found;
    section.files.push_back(file);
  }
  for (auto& section : all) {
    std::vector<const Row*> rows;
    std::vector<const Row*> canary;
    std::set<std::string> libraries;
    for (const auto* file : section.files) {
      for (const auto& row : file->rows) {
        rows.push_back(&row);
        libraries.insert(row.library);
      }
      for (const auto& row : file->canary) {
        // The canary of a session stands in each of its files.
        if (std::none_of(canary.begin(), canary.end(),
                         [&](const Row* known) { return same_runs(*known, row); }))
          canary.push_back(&row);
      }
    }
    section.several_libraries = libraries.size() > 1;
    section.rows = by_case(rows);
    section.canary = by_case(canary);
    mark_best(section.rows);
    mark_behind(section);
  }
  return all;
}

bool has_summary(const Row& row) {
  return row.summary && std::isfinite(row.summary->median);
}

bool intervals_overlap(const Row& a, const Row& b) {
  const auto& x = a.summary->ci95;
  const auto& y = b.summary->ci95;
  return x && y && x->low <= y->high && y->low <= x->high;
}

std::string case_cell(const Row& row) {
  return printable(row.case_name);
}
std::string library_cell(const Row& row) {
  return printable(row.library);
}

Scale scale_of(const Row& row) {
  constexpr std::size_t kLongestUnit =
      16;  // columns: a table must not be as wide as a unit may be long
  return Scale(has_summary(row) ? row.summary->median : 0, clip(printable(row.unit), kLongestUnit));
}

std::string median_cell(const Row& row) {
  if (!has_summary(row)) return std::string(kNone);
  const Scale scale = scale_of(row);
  const bool one = row.summary->n_runs < 2;  // a single run has no spread, not a spread of 0
  return one ? fmt::format("{} {}", scale.number(row.summary->median), scale.unit())
             : fmt::format("{} ± {} {}", scale.number(row.summary->median),
                           scale.spread(row.summary->sd), scale.unit());
}

std::string interval_cell(const Row& row) {
  if (!has_summary(row) || !row.summary->ci95) return std::string(kNone);
  const Scale scale = scale_of(row);
  return fmt::format("{} to {}", scale.number(row.summary->ci95->low),
                     scale.number(row.summary->ci95->high));
}

std::string cv_cell(const Row& row) {
  return has_summary(row) && row.summary->n_runs > 1 ? percent(row.summary->cv)
                                                     : std::string(kNone);
}

std::string runs_cell(const Row& row) {
  if (!has_summary(row)) return std::string(kNone);
  const int runs = row.summary->n_runs;
  const int samples = row.summary->n_samples;
  if (runs > 0 && samples % runs == 0) return fmt::format("{} × {}", runs, samples / runs);
  return fmt::format("{} ({})", runs, samples);
}

std::string ratio_text(const stats::Estimate& ratio) {
  return fmt::format("{}× ({} to {})", significant(ratio.point, 3), significant(ratio.low, 3),
                     significant(ratio.high, 3));
}

std::string behind_cell(const Line& line) {
  return line.behind ? ratio_text(*line.behind) : std::string(kNone);
}

bool any_behind(const std::vector<Line>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [](const Line& line) { return line.behind.has_value(); });
}

std::string status_cell(const Row& row) {
  switch (row.status) {
    case measure::RowStatus::ok:
      return has_summary(row) && row.summary->unstable ? "unstable" : "ok";
    case measure::RowStatus::early_stopped:
      return "early stopped";
    default:
      return to_string(row.status);
  }
}

std::string reason_cell(const Row& row) {
  return printable(row.reason);
}

SampleValues::SampleValues(const Row& row) : rate_(row.better == Better::higher) {
  std::vector<double> all;
  for (const auto& run : row.runs) {
    for (const auto ns : run.samples_ns)
      all.push_back(static_cast<double>(ns));
  }
  std::sort(all.begin(), all.end());
  median_ns_ = quantile(all, 0.5);
  p50_ = row.summary ? row.summary->p50 : std::numeric_limits<double>::quiet_NaN();
}

double SampleValues::of(std::int64_t ns) const {
  const auto time = static_cast<double>(ns);
  const double value = rate_ ? p50_ * (median_ns_ / time) : p50_ * (time / median_ns_);
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace sluice::report
