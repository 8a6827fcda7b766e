// sluice/analysis/result_set.h - one side of a comparison: its files, their rows pooled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/results/result_file.h"

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace sluice::analysis {

struct ResultSet {
  std::string name;  // what warnings call it: the path
  std::vector<results::ResultFile> files;
};

/// A result file, or every result file of a run folder. A file that cannot be read, is of a newer
/// schema or is not sound (validate.h) is an error, and so is a folder without any.
Result<ResultSet> read_set(const std::filesystem::path& path);

/// What makes two rows the same row.
using RowKey = std::tuple<std::string, std::string,
                          std::map<std::string, std::string>>;  // case, library, params
RowKey key_of(const measure::Row& row);

/// A row over all files of a set; of a matrix file, with the device and thread policy as further
/// parameters where they are not the usual ones. Runs of equal id count once (a canary is stored in
/// every file of its session). One row that is not ok makes the pooled row not ok, with that row's
/// reason.
struct PooledRow {
  measure::Row row;
  int files = 1;  // in which it occurs with runs of its own
  std::string
      conflict;  // not empty: the files disagree on unit, sense or work, so runs were not pooled
};

/// In the order of first appearance.
struct PooledRows {
  std::vector<PooledRow> rows;
  std::map<RowKey, std::size_t> index;
  [[nodiscard]] const PooledRow* find(const RowKey& key) const;
};

PooledRows pool_rows(const ResultSet& set);
PooledRows pool_canary(const ResultSet& set);

}  // namespace sluice::analysis
