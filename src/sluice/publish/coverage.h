// sluice/publish/coverage.h - are all rows there that a table needs? By content, not by file name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/results/result_file.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::publish {

struct ExpectedRow {
  std::string case_name;
  std::string library;
  std::map<std::string, std::string> params;  // those that must agree; a row may have more
  bool may_be_skipped = false;                // known not to work: `skipped` is what it has to say
};

/// One library in one regime: what one result file holds.
struct ExpectedTable {
  std::string name;            // what listings call it: the path of its file, or a regime
  std::filesystem::path file;  // relative to the folder; empty: any file of it may hold the rows
  // Of the files that count, where `file` is empty: where their rows ran, and what the run was
  // asked for (empty: the same). Clips of a host library in a run on a GPU: none, cuda.
  std::string device = "none";
  std::string run_device{};
  bool optional = false;
  std::int64_t items = 0;  // at least so many must have been measured; 0: any number
  int runs = 1;            // fresh processes of an ok row, over all files that hold it
  std::vector<ExpectedRow> rows;
};

struct MissingRow {
  std::string table;
  std::string case_name;  // empty: the whole table
  std::string library;
  std::string reason;
};

struct TableCoverage {
  std::string name;
  bool optional = false;
  std::size_t expected = 0;
  std::size_t present = 0;
  int runs_expected = 1;
  std::optional<int> runs;  // of the ok row that has fewest; absent: no row is ok
};

struct Coverage {
  std::vector<TableCoverage> tables;
  std::vector<MissingRow> missing;

  [[nodiscard]] bool complete() const { return missing.empty(); }
  [[nodiscard]] std::size_t expected() const;
  [[nodiscard]] std::size_t present() const;
};

/// A row is present when it says something final: ok with all its runs, early-stopped or
/// unsupported; files of fewer items than the table wants do not count. Failed and skipped rows are
/// missing with their reason, so are those of a file without rows, and a table whose rows are all
/// unsupported is missing as a whole: nothing was measured. Optional
/// tables count only if `require_optional`; otherwise they are listed without a reproach. An Error
/// for a file that cannot be read.
Result<Coverage> cover(const std::vector<ExpectedTable>& tables,
                       const std::vector<std::filesystem::path>& folders, bool require_optional);

/// {complete, expected, present, tables: [{file, optional, expected, present, runs,
/// runs_expected}], missing: [{file, case, library, reason}]}.
Json to_json(const Coverage& coverage);

}  // namespace sluice::publish
