// sluice/results/resume.cpp - what an interrupted run has finished, and whether it may be
// continued.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/resume.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace sluice::results {
namespace {

struct Difference {
  std::string key;
  std::string existing;
  std::string planned;
};

std::string one_line(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return printable(text);
}

/// The first key, in the order of the documents, under which two values differ.
std::optional<Difference> first_difference(const Json& existing, const Json& planned,
                                           const std::string& key) {
  if (existing == planned) return std::nullopt;
  if (!existing.is_object() || !planned.is_object())
    return Difference{key, one_line(existing), one_line(planned)};
  for (const auto& [name, value] : existing.items()) {
    const std::string inner = key + "." + name;
    if (!planned.contains(name)) return Difference{inner, one_line(value), "absent"};
    if (auto difference = first_difference(value, planned[name], inner)) return difference;
  }
  for (const auto& [name, value] : planned.items()) {
    if (!existing.contains(name)) return Difference{key + "." + name, "absent", one_line(value)};
  }
  return std::nullopt;  // the same keys in another order
}

}  // namespace

std::set<CaseAndLibrary> finished_cases(const ResultFile& file) {
  using measure::RowStatus;
  std::set<CaseAndLibrary> finished;
  for (const auto& row : file.rows) {
    const bool done = row.status == RowStatus::ok || row.status == RowStatus::early_stopped ||
                      row.status == RowStatus::unsupported;
    if (done) finished.emplace(row.case_name, row.library);
  }
  return finished;
}

bool is_finished(const std::set<CaseAndLibrary>& finished, const std::string& case_name,
                 const std::vector<std::string>& libraries) {
  return std::all_of(libraries.begin(), libraries.end(), [&](const std::string& library) {
    return finished.count(CaseAndLibrary(case_name, library)) > 0;
  });
}

std::vector<measure::Row> finished_rows(const ResultFile& existing,
                                        const std::vector<std::string>& libraries) {
  const auto finished = finished_cases(existing);
  std::vector<measure::Row> rows;
  for (const auto& row : existing.rows) {
    if (is_finished(finished, row.case_name, libraries)) rows.push_back(row);
  }
  return rows;
}

Status check_resumable(const ResultFile& existing, const ResultFile& planned,
                       const std::string& name) {
  const auto runs_of = [](const ResultFile& file) {
    return file.run_config.value("/execution/num_runs"_json_pointer, std::int64_t{0});
  };
  const bool grows = runs_of(existing) > 0 && runs_of(existing) < runs_of(planned);
  const auto identity = [&](const ResultFile& file) {
    Json config = file.run_config.is_object() ? file.run_config : Json::object();
    if (grows) config["execution"].erase("num_runs");
    return Json{{"schema_version", file.schema_version},
                {"tool", {{"version", file.tool.version}, {"git", file.tool.git}}},
                {"machine_profile", file.machine_profile},
                {"run_config", std::move(config)},
                {"dataset", {{"hash", file.dataset.hash}}}};
  };
  const auto difference = first_difference(identity(existing), identity(planned), "");
  if (!difference) return ok;
  return Error{Errc::usage, fmt::format("{}: cannot be resumed: {} was {} and is now {}; repeat "
                                        "the run as it was, or start a new "
                                        "folder with --out",
                                        printable(name), printable(difference->key.substr(1)),
                                        difference->existing, difference->planned)};
}

}  // namespace sluice::results
