// sluice/publish/coverage.cpp - compares what is there with what must be.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/coverage.h"

#include "sluice/analysis/config_value.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

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
    case RowStatus::ok:
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

/// Nothing when it is there; otherwise why it is not.
std::optional<std::string> why_absent(const std::vector<const Found*>& files,
                                      const ExpectedRow& expected) {
  std::string why = "no such row";
  for (const auto* found : files) {
    for (const auto& row : found->file.rows) {
      if (!is_row(row, expected)) continue;
      if (is_present(row, expected)) return std::nullopt;
      why = why_missing(row);
    }
  }
  return why;
}

/// The files that may hold the rows of a table.
std::vector<const Found*> files_of(const std::vector<Found>& all, const ExpectedTable& table) {
  std::vector<const Found*> files;
  for (const auto& found : all) {
    const bool fits = table.file.empty() ? analysis::device_of(found.file) == table.device
                                         : found.path == table.file;
    if (fits) files.push_back(&found);
  }
  return files;
}

void cover_table(Coverage& out, const ExpectedTable& table, const std::vector<Found>& all,
                 bool required) {
  TableCoverage& sum = out.tables.emplace_back();
  sum.name = table.name;
  sum.optional = table.optional;
  sum.expected = table.rows.size();
  const auto files = files_of(all, table);
  std::vector<MissingRow> missing;
  for (const auto& row : table.rows) {
    const auto why = why_absent(files, row);
    if (!why) ++sum.present;
    if (why) missing.push_back(MissingRow{table.name, row.case_name, row.library, *why});
  }
  if (!required || missing.empty()) return;
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
                      {"present", table.present}});
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
