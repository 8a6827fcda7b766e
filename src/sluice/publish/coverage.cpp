// sluice/publish/coverage.cpp - compares what is there with what must be.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/coverage.h"

#include "sluice/analysis/config_value.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace sluice::publish {
namespace fs = std::filesystem;
namespace {

using measure::Row;
using measure::RowStatus;

struct Found {
  fs::path path;  // relative to results/ of its folder
  results::ResultFile file;
};

Result<std::vector<Found>> read_all(const std::vector<fs::path>& folders) {
  std::vector<Found> found;
  for (const auto& folder : folders) {
    std::error_code code;
    const fs::path base = fs::is_directory(folder / "results", code) ? folder / "results" : folder;
    const auto paths = results::find(folder);
    // A folder without any result file is one whose rows are all missing.
    if (!paths && paths.error().code == Errc::not_found && fs::is_directory(folder, code)) continue;
    if (!paths) return paths.error();
    for (const auto& path : *paths) {
      SLUICE_TRY(auto file, results::read(path));
      found.push_back(Found{path.lexically_relative(base), std::move(file)});
    }
  }
  return found;
}

bool is_row(const Row& row, const ExpectedRow& expected) {
  return row.case_name == expected.case_name && row.library == expected.library &&
         std::all_of(expected.params.begin(), expected.params.end(), [&](const auto& param) {
           const auto own = row.params.find(param.first);
           return own != row.params.end() && own->second == param.second;
         });
}

bool is_present(const Row& row, const ExpectedRow& expected) {
  switch (row.status) {
    case RowStatus::ok:  // its runs are counted over all files
      return row.summary.has_value() && !row.runs.empty();
    case RowStatus::early_stopped:
    case RowStatus::unsupported:
      return true;
    case RowStatus::skipped:
      return expected.may_be_skipped;
    case RowStatus::failed:
      break;
  }
  return false;
}

std::string why_missing(const Row& row) {
  if (row.status == RowStatus::ok) return "ok, but without a sample";
  return fmt::format("{}: {}", to_string(row.status),
                     row.reason.empty() ? "no reason given" : printable(row.reason));
}

/// A row over all files that may hold it.
struct Looked {
  std::string why_absent = "no such row";  // empty: it is there
  std::string unsupported;                 // not empty: all that it says
  std::set<std::string> runs;              // of ok rows, by id
  bool ok = false;
};

Looked look_for(const std::vector<const Found*>& files, const ExpectedRow& expected, int runs) {
  Looked looked;
  bool other = false;  // something final that is neither ok nor unsupported
  for (const auto* found : files) {
    for (const auto& row : found->file.rows) {
      if (!is_row(row, expected)) continue;
      if (!is_present(row, expected)) {
        if (!looked.ok && !other) looked.why_absent = why_missing(row);
        continue;
      }
      if (row.status == RowStatus::unsupported) looked.unsupported = why_missing(row);
      if (row.status == RowStatus::ok) {
        looked.ok = true;
        for (const auto& run : row.runs)
          looked.runs.insert(run.run_id);
      }
      other = other || (row.status != RowStatus::ok && row.status != RowStatus::unsupported);
    }
  }
  const auto count = static_cast<int>(looked.runs.size());
  if (looked.ok) {
    looked.why_absent = count >= runs ? "" : fmt::format("{} of {} runs", count, runs);
  } else if (other || !looked.unsupported.empty()) {
    looked.why_absent.clear();
  }
  if (looked.ok || other) looked.unsupported.clear();
  return looked;
}

std::int64_t items_of(const results::ResultFile& file) {
  const Json* asked = analysis::config_value(file, "data", "num_items");
  const std::int64_t there = file.dataset.count;
  if (asked == nullptr || !asked->is_number_integer()) return there;
  return there > 0 ? std::min(there, asked->get<std::int64_t>()) : asked->get<std::int64_t>();
}

bool on_device(const results::ResultFile& file, const ExpectedTable& table) {
  const std::string& asked = table.run_device.empty() ? table.device : table.run_device;
  return analysis::device_of(file) == table.device && analysis::run_device_of(file) == asked;
}

/// The files that may hold the rows of a table.
std::vector<const Found*> files_of(const std::vector<Found>& all, const ExpectedTable& table) {
  std::vector<const Found*> files;
  for (const auto& found : all) {
    const bool fits = table.file.empty() ? on_device(found.file, table) : found.path == table.file;
    if (fits && (table.items == 0 || items_of(found.file) >= table.items)) files.push_back(&found);
  }
  return files;
}

/// Files that would hold the rows, had they measured more items.
std::int64_t most_items(const std::vector<Found>& all, ExpectedTable table) {
  table.items = 0;
  std::int64_t most = 0;
  for (const Found* found : files_of(all, table)) {
    const bool holds = std::ranges::any_of(found->file.rows, [&](const Row& row) {
      return !table.rows.empty() && is_row(row, table.rows.front());
    });
    if (holds) most = std::max(most, items_of(found->file));
  }
  return most;
}

void cover_table(Coverage& out, const ExpectedTable& table, const std::vector<Found>& all,
                 bool required) {
  TableCoverage& sum = out.tables.emplace_back();
  sum.name = table.name;
  sum.optional = table.optional;
  sum.expected = table.rows.size();
  sum.runs_expected = table.runs;
  const auto files = files_of(all, table);
  std::vector<MissingRow> missing;
  std::vector<std::string> unsupported;
  for (const auto& row : table.rows) {
    const Looked looked = look_for(files, row, table.runs);
    if (looked.why_absent.empty()) ++sum.present;
    if (!looked.why_absent.empty())
      missing.push_back(MissingRow{table.name, row.case_name, row.library, looked.why_absent});
    if (!looked.unsupported.empty()) unsupported.push_back(looked.unsupported);
    if (looked.ok) {
      const auto count = static_cast<int>(looked.runs.size());
      sum.runs = std::min(sum.runs.value_or(count), count);
    }
  }
  const bool nothing = !table.rows.empty() && unsupported.size() == table.rows.size();
  if (nothing) sum.present = 0;
  if (required && nothing)
    out.missing.push_back(MissingRow{table.name, "", "",
                                     "nothing was measured: every row is " + unsupported.front()});
  if (!required || nothing || missing.empty()) return;
  if (const std::int64_t items = most_items(all, table); files.empty() && items > 0) {
    out.missing.push_back(MissingRow{
        table.name, "", "", fmt::format("{} items were measured, {} are due", items, table.items)});
    return;
  }
  const bool named = !table.file.empty();
  if (named && files.empty()) {
    out.missing.push_back(MissingRow{table.name, "", "", "no such file"});
  } else if (named && files.front()->file.rows.empty()) {
    out.missing.push_back(MissingRow{table.name, "", "", "the file holds no row"});
  } else if (!named && sum.present == 0 &&
             std::all_of(missing.begin(), missing.end(),
                         [](const MissingRow& row) { return row.reason == "no such row"; })) {
    out.missing.push_back(MissingRow{table.name, "", "", "no file holds its rows"});
  } else {
    out.missing.insert(out.missing.end(), missing.begin(), missing.end());
  }
}

}  // namespace

std::size_t Coverage::expected() const {
  std::size_t sum = 0;
  for (const auto& table : tables)
    sum += table.expected;
  return sum;
}

std::size_t Coverage::present() const {
  std::size_t sum = 0;
  for (const auto& table : tables)
    sum += table.present;
  return sum;
}

Result<Coverage> cover(const std::vector<ExpectedTable>& tables,
                       const std::vector<fs::path>& folders, bool require_optional) {
  SLUICE_TRY(const auto all, read_all(folders));
  Coverage out;
  for (const auto& table : tables)
    cover_table(out, table, all, require_optional || !table.optional);
  return out;
}

Json to_json(const Coverage& coverage) {
  Json tables = Json::array();
  for (const auto& table : coverage.tables) {
    tables.push_back({{"file", table.name},
                      {"optional", table.optional},
                      {"expected", table.expected},
                      {"present", table.present},
                      {"runs", table.runs ? Json(*table.runs) : Json(nullptr)},
                      {"runs_expected", table.runs_expected}});
  }
  Json missing = Json::array();
  for (const auto& row : coverage.missing) {
    Json entry = {{"file", row.table}};
    if (!row.case_name.empty()) {
      entry["case"] = row.case_name;
      entry["library"] = row.library;
    }
    entry["reason"] = row.reason;
    missing.push_back(std::move(entry));
  }
  return Json{{"complete", coverage.complete()},
              {"expected", coverage.expected()},
              {"present", coverage.present()},
              {"tables", std::move(tables)},
              {"missing", std::move(missing)}};
}

}  // namespace sluice::publish
