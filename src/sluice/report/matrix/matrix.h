// sluice/report/matrix/matrix.h - result files of the matrix as tables: transforms down, libraries
// across.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/matrix/regime.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sluice::report {

// Everything below points into the files it was made from. Strings that end up on a page went
// through printable() and are not yet escaped for any format.

struct MatrixCell {
  const measure::Row* row = nullptr;  // null: the files hold no such row
  const results::ResultFile* file = nullptr;
  bool best = false;     // see MatrixLine
  std::size_t note = 0;  // into MatrixTable::notes, from 1: not comparable; 0: comparable
  double share = 0;      // of the best median of its line, 0 to 1; 0 without a number
};

struct MatrixColumn {
  std::string library;
  std::string version;       // "4.6.0 / 5.0.0" for two builds; "" for more
  std::size_t measured = 0;  // rows with a number of their own: ok, not stopped early
  std::optional<double> median;
};

/// The fastest library of a line over the runner-up.
struct Lead {
  std::size_t first = 0;  // columns
  std::size_t second = 0;
  double ratio = 1;
  std::optional<double> low, high;  // 95 % interval, with two runs or more on both sides
};

/// `best` is the best median among the comparable rows, and every comparable row whose interval
/// overlaps that one's; none when no other library was measured.
struct MatrixLine {
  std::string name;  // the transform
  std::string case_name;
  std::vector<MatrixCell> cells;  // one per column
  std::optional<Lead> lead;       // among comparable rows
  MatrixCell copy;                // the same bytes only copied: a yardstick, never a column
  std::optional<double> of_copy;  // speed of the fastest comparable row as a share of that copy's
};

/// Why rows have no number: one entry per library, status and text.
struct Reason {
  std::string library;
  measure::RowStatus status = measure::RowStatus::unsupported;
  std::string text;
  std::vector<std::string> lines;
};

struct MatrixTable {
  Regime regime;
  bool main = false;
  bool gpu_memory = false;  // peak-memory columns are due
  bool copies = false;      // lines have `copy`: the column kCopyShare is due
  std::string unit;
  std::vector<MatrixColumn> columns;
  std::vector<MatrixLine> lines;
  std::size_t expected = 0;  // denominator of the coverage: lines, and transforms without any row
  std::vector<std::string> notes;    // why rows are not comparable
  std::vector<Reason> reasons;       // unsupported, failed, skipped
  std::vector<std::string> remarks;  // what else a reader must know, a sentence each
  std::vector<const results::ResultFile*> files;

  [[nodiscard]] std::string title() const { return heading(regime); }
};

/// In the order of reading. Of two rows of one library for one case (two sessions in one set of
/// files) the second opens a further table.
std::vector<MatrixTable> matrix_tables(const std::vector<const results::ResultFile*>& files);

inline constexpr std::size_t kLongestName = 60;  // columns; longer names are clipped in the middle

inline constexpr const char* kCopyShare = "share of memory copy speed";

// Cells, plain text.
inline constexpr const char* kUnsupported = "-";
inline constexpr const char* kAbsent = "·";
inline constexpr const char* kUnstable = "†";
std::string median_text(const measure::Row& row);  // "871.2", "38,380"
std::string spread_text(const measure::Row& row);  // "9.4"; "" with a single run
std::string lead_text(const Lead& lead);           // "2.58× (2.51 to 2.66)"
std::string superscript(std::size_t number);       // "¹²"
std::string copy_text(const MatrixLine& line);     // "13 %"; kNone where it was not measured
/// "sluice 2.58× (2.51 to 2.66)"; "too close: 1.01× (0.97 to 1.05)"; kNone without a lead.
std::string winner_text(const MatrixTable& table, const MatrixLine& line);
/// What stands in the cell before marks: "871.2 ± 9.4", "≤20 img/s", "-", "failed", "skipped", "·";
/// in brackets where the library does not compute the same.
std::string cell_text(const MatrixCell& cell);
/// Marks behind it: unstable, number of the note.
std::string cell_marks(const MatrixCell& cell);
std::string coverage_text(const MatrixTable& table, const MatrixColumn& column);  // "51/57"
/// "1,204 / 1,310 MiB": peak allocated and reserved; kNone where it was not measured.
std::string memory_text(const MatrixCell& cell);
/// "img/s, median ± sd over 3 runs, thread policy micro-single, 2,000 items".
std::string caption(const MatrixTable& table);
/// "Fastest: albumentationsx in 52 rows, pillow in 1, of 53 that compare libraries."
std::string wins_text(const MatrixTable& table);
/// What the signs of this table mean, as far as it uses them.
std::vector<std::string> legend(const MatrixTable& table);
/// "unsupported in pillow: RandomCrop224, Rain: no such operation".
std::string reason_text(const Reason& reason);

bool has_number(const MatrixCell& cell);  // ok, with a summary
/// The intervals of the fastest two overlap, or that of their ratio holds 1. With a single run a
/// side there is none, and nothing can be said.
bool is_close_call(const MatrixLine& line);

}  // namespace sluice::report
