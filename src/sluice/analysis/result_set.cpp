// sluice/analysis/result_set.cpp - reading a side and pooling its rows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/result_set.h"

#include "sluice/analysis/config_value.h"
#include "sluice/analysis/validate.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <set>

namespace sluice::analysis {
namespace {

using measure::Row;
using measure::RowStatus;

int severity(RowStatus status) {
  switch (status) {
    case RowStatus::ok:
      return 0;
    case RowStatus::early_stopped:
      return 1;
    case RowStatus::skipped:
      return 2;
    case RowStatus::unsupported:
      return 3;
    case RowStatus::failed:
      return 4;
  }
  return 4;
}

void merge(PooledRow& into, const Row& row) {
  if (severity(row.status) > severity(into.row.status)) {
    into.row.status = row.status;
    into.row.reason = row.reason;
  }
  if (row.unit != into.row.unit || row.better != into.row.better ||
      row.items_per_sample != into.row.items_per_sample) {
    into.conflict = "its files disagree on unit or items per sample";
    return;
  }
  if (row.output_digest != into.row.output_digest) into.row.output_digest.clear();
  std::set<std::string> known;
  for (const measure::Run& run : into.row.runs)
    known.insert(run.run_id);
  bool added = false;
  for (const measure::Run& run : row.runs) {
    if (!run.run_id.empty() && known.count(run.run_id) > 0) continue;
    into.row.runs.push_back(run);
    added = true;
  }
  if (added) ++into.files;
}

/// A library may be measured on the CPU and on a device, or with one thread and with all, in files
/// of one folder: the case is the same, the row is not.
Row with_regime(Row row, const results::ResultFile& file) {
  if (config_text(file, "selection", "scenario").empty()) return row;
  const std::string device = device_of(file);
  if (device != "none") row.params.try_emplace("device", device);
  // micro-single and pipeline-default go without saying.
  const std::string policy = config_text(file, "execution", "thread_policy");
  if (policy == "pipeline-single-worker") row.params.try_emplace("thread_policy", policy);
  return row;
}

PooledRows pool(const ResultSet& set, std::vector<Row> results::ResultFile::*member) {
  PooledRows out;
  for (const results::ResultFile& file : set.files) {
    for (const Row& original : file.*member) {
      const Row row = with_regime(original, file);
      const auto [place, is_new] = out.index.try_emplace(key_of(row), out.rows.size());
      if (is_new) {
        out.rows.push_back(PooledRow{row, 1, {}});
      } else {
        merge(out.rows[place->second], row);
      }
    }
  }
  return out;
}

}  // namespace

Result<ResultSet> read_set(const std::filesystem::path& path) {
  SLUICE_TRY(const auto paths, results::find(path));
  if (paths.empty()) {
    return Error{
        Errc::not_found,
        fmt::format("{}: holds no result file, a run folder or a *.json result is accepted",
                    printable(path.string()))};
  }
  ResultSet set;
  set.name = path.string();
  SLUICE_TRY(set.files, read_sound(paths));
  return set;
}

RowKey key_of(const Row& row) {
  return {row.case_name, row.library, row.params};
}

const PooledRow* PooledRows::find(const RowKey& key) const {
  const auto place = index.find(key);
  return place == index.end() ? nullptr : &rows[place->second];
}

PooledRows pool_rows(const ResultSet& set) {
  return pool(set, &results::ResultFile::rows);
}
PooledRows pool_canary(const ResultSet& set) {
  return pool(set, &results::ResultFile::canary);
}

}  // namespace sluice::analysis
