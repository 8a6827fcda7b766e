// sluice/analysis/pool_files.cpp - which files are runs of one table, and that table's rows.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/pool_files.h"

#include "sluice/analysis/config_value.h"
#include "sluice/analysis/result_set.h"
#include "sluice/core/text.h"
#include "sluice/measure/policy.h"
#include "sluice/measure/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace sluice::analysis {
namespace {

using results::ResultFile;

constexpr int kBlocksOfASession = 1'000'000;  // blocks of two sessions never meet

bool of_matrix(const ResultFile& file) {
  return !config_text(file, "selection", "scenario").empty() &&
         !config_text(file, "selection", "mode").empty();
}

/// Equal for files whose runs may stand in one row.
std::string identity(const ResultFile& file) {
  Json config = file.run_config;
  for (const char* key : {"num_runs", "seed"})
    if (config.contains("execution") && config["execution"].is_object())
      config["execution"].erase(key);
  config.erase("output");
  if (config.contains("data") && config["data"].is_object()) config["data"].erase("data_dir");
  if (config.contains("selection") && config["selection"].is_object()) {
    config["selection"].erase("libraries");  // a file holds one of them, whoever stood beside it
    config["selection"].erase("peers");
  }
  std::set<std::string> libraries;
  for (const measure::Row& row : file.rows)
    libraries.insert(row.library);
  return Json{{"tool", {file.tool.version, file.tool.git}},
              {"machine", file.machine_profile},
              {"dataset", file.dataset.hash},
              {"device", device_of(file)},
              {"scope", file.timing.scope},
              {"config", std::move(config)},
              {"libraries", libraries}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Versions of one library are two libraries.
std::string versions_problem(const std::vector<const ResultFile*>& files) {
  std::map<std::string, std::string> known;
  for (const ResultFile* file : files) {
    for (const measure::Row& row : file->rows) {
      if (row.runs.empty()) continue;
      const auto [place, is_new] = known.try_emplace(row.library, row.library_version);
      if (!is_new && place->second != row.library_version)
        return fmt::format("{} was measured in versions {} and {}", printable(row.library),
                           printable(place->second), printable(row.library_version));
    }
  }
  return {};
}

std::string problem_of(const PooledRows& pooled, const std::vector<const ResultFile*>& files) {
  for (const PooledRow& one : pooled.rows)
    if (!one.conflict.empty())
      return fmt::format("{} in {}: {}", printable(one.row.case_name), printable(one.row.library),
                         one.conflict);
  return versions_problem(files);
}

/// Sessions that are already one, as files of one folder are, are not pooled.
bool several_sessions(const std::vector<const ResultFile*>& files) {
  std::set<std::string> sessions;
  for (const ResultFile* file : files)
    sessions.insert(file->session_id);
  return sessions.size() == files.size() && files.size() > 1;
}

/// The rows keep their own order and parameters: what `pool_rows` adds tells regimes apart, and
/// here there is one.
ResultFile pooled_file(const std::vector<const ResultFile*>& files, const PooledRows& pooled) {
  ResultFile out = *files.front();
  std::vector<std::string> sessions;
  for (const ResultFile* file : files)
    sessions.push_back(file->session_id);
  out.session_id = join(sessions, "+");
  for (measure::Row& row : out.rows) {
    const auto found = std::ranges::find_if(pooled.rows, [&](const PooledRow& one) {
      return one.row.case_name == row.case_name && one.row.library == row.library;
    });
    if (found == pooled.rows.end()) continue;
    const auto params = row.params;
    row = found->row;
    row.params = params;
    measure::summarise(row, measure::Policy{}.unstable_cv);
  }
  for (const PooledRow& one : pooled.rows) {  // those that a later session alone has
    const bool there = std::ranges::any_of(out.rows, [&](const measure::Row& row) {
      return row.case_name == one.row.case_name && row.library == one.row.library;
    });
    if (!there) out.rows.push_back(one.row);
  }
  return out;
}

}  // namespace

PooledFiles pool_files(std::vector<ResultFile> files) {
  std::map<std::string, int> session_number;
  for (const ResultFile& file : files)
    session_number.try_emplace(file.session_id, static_cast<int>(session_number.size()));
  std::vector<std::string> order;
  std::map<std::string, std::vector<const ResultFile*>> groups;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string key = of_matrix(files[i]) ? identity(files[i]) : fmt::format("file {}", i);
    auto& group = groups[key];
    if (group.empty()) order.push_back(std::move(key));
    group.push_back(&files[i]);
  }
  PooledFiles out;
  for (const std::string& key : order) {
    const auto& group = groups[key];
    ResultSet set;
    if (several_sessions(group)) {
      for (const ResultFile* file : group) {
        set.files.push_back(*file);
        for (measure::Row& row : set.files.back().rows)
          for (measure::Run& run : row.runs)
            run.block += session_number[file->session_id] * kBlocksOfASession;
      }
      const PooledRows pooled = pool_rows(set);
      const std::string problem = problem_of(pooled, group);
      if (problem.empty()) {
        out.files.push_back(pooled_file(group, pooled));
        continue;
      }
      out.notes.push_back(fmt::format("{} files are not pooled: {}", group.size(), problem));
    }
    for (const ResultFile* file : group)
      out.files.push_back(*file);
  }
  return out;
}

}  // namespace sluice::analysis
