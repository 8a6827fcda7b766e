// sluice/report/sections.h - result files arranged for reading, and the cells every renderer shows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/format.h"
#include "sluice/results/result_file.h"
#include "sluice/stats/sample.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::report {

inline constexpr const char* kOurs = "sluice";  // row.library of what this program does itself

struct Line {
  const measure::Row* row = nullptr;
  bool best = false;  // of its case, see `sections`
  /// Of a row of another library: how many times as fast ours is, in pairs of runs.
  std::optional<stats::Estimate> behind;
};

/// The files of one session on one machine. Points into the files it was made from.
struct Section {
  std::vector<const results::ResultFile*> files;  // at least one
  std::vector<Line> rows;                         // rows of one case stand together
  std::vector<Line> canary;
  bool several_libraries = false;

  [[nodiscard]] const results::ResultFile& head() const { return *files.front(); }
};

/// `best` is the best median of a case measured in several libraries, and every row whose interval
/// overlaps that one's: what the numbers do not separate, the table does not either.
std::vector<Section> sections(const std::vector<const results::ResultFile*>& files);

/// Files of the matrix have tables of their own; the others are shown row by row.
struct Split {
  std::vector<const results::ResultFile*> matrix;
  std::vector<const results::ResultFile*> plain;
};
Split split_files(const std::vector<results::ResultFile>& files);

// Cells. Plain text, not yet escaped for any format; strings of the file went through printable().
std::string case_cell(const measure::Row& row);
std::string library_cell(const measure::Row& row);
Scale scale_of(const measure::Row& row);             // how the numbers of this row are shown
std::string median_cell(const measure::Row& row);    // "871.2 ± 9.4 img/s"
std::string interval_cell(const measure::Row& row);  // "860.1 to 882.3"
std::string cv_cell(const measure::Row& row);
std::string runs_cell(const measure::Row& row);  // "5 × 3": runs by samples; "5 (14)" when uneven
std::string ratio_text(const stats::Estimate& ratio);  // "2.58× (2.51 to 2.66)"
std::string behind_cell(const Line& line);             // the same; kNone for ours
bool any_behind(const std::vector<Line>& lines);       // then the column is due
/// "ok", "unstable", "early stopped", "unsupported", "failed", "skipped".
std::string status_cell(const measure::Row& row);
std::string reason_cell(const measure::Row& row);  // empty for ok

/// A row worth a number: ok or stopped early, with a summary.
bool has_summary(const measure::Row& row);
/// The 95 % intervals of two rows with a summary; false where one has none.
bool intervals_overlap(const measure::Row& a, const measure::Row& b);

/// Of one sample in the unit of the row; scaled so that the median sample is the row's p50,
/// whatever the unit. NaN where that cannot be said.
class SampleValues {
 public:
  explicit SampleValues(const measure::Row& row);
  [[nodiscard]] double of(std::int64_t ns) const;

 private:
  double median_ns_ = 0;
  double p50_ = 0;
  bool rate_ = true;
};

/// Quantile by linear interpolation of sorted values; NaN for none.
double quantile(const std::vector<double>& sorted, double q);

}  // namespace sluice::report
