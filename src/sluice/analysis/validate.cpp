// sluice/analysis/validate.cpp - the checks on a result file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/validate.h"

#include "sluice/analysis/config_value.h"
#include "sluice/analysis/result_set.h"
#include "sluice/analysis/training_use.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/measure/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace sluice::analysis {
namespace {

using measure::Row;
using measure::RowStatus;

/// Two ways to sum the same nanoseconds, and summaries rounded by whoever wrote them.
constexpr double kTolerance = 1e-4;

bool near(double a, double b) {
  return std::fabs(a - b) <= kTolerance * std::max(std::fabs(a), std::fabs(b)) + 1e-12;
}

bool is_micro(const results::ResultFile& file) {
  return config_text(file, "selection", "mode") == "micro";
}

/// Its rows are what another program marked: nobody saw its output, so there is nothing to digest.
bool is_watched(const results::ResultFile& file) {
  return string_at(file.run_config, "command") == "watch";
}

std::string row_name(const Row& row) {
  return fmt::format("{} in {}", printable(row.case_name), printable(row.library));
}

/// Collects the issues of one row under its name.
class RowIssues {
 public:
  RowIssues(FileCheck& check, const Row& row) : check_(check), name_(row_name(row)) {}
  void add(const std::string& text) { check_.issues.push_back(name_ + ": " + text); }

 private:
  FileCheck& check_;
  std::string name_;
};

void check_samples(const Row& row, RowIssues& issues) {
  std::size_t samples = 0;
  for (std::size_t i = 0; i < row.runs.size(); ++i) {
    const auto& all = row.runs[i].samples_ns;
    if (all.empty()) issues.add(fmt::format("run {} has no sample", i));
    if (std::any_of(all.begin(), all.end(), [](std::int64_t ns) { return ns <= 0; }))
      issues.add(fmt::format("run {} has a sample of zero length", i));
    samples += all.size();
  }
  if (!row.summary) return;
  if (row.summary->n_runs != static_cast<int>(row.runs.size())) {
    issues.add(
        fmt::format("n_runs is {}, but there are {} runs", row.summary->n_runs, row.runs.size()));
  }
  if (row.summary->n_samples != static_cast<int>(samples)) {
    issues.add(
        fmt::format("n_samples is {}, but there are {} samples", row.summary->n_samples, samples));
  }
}

/// Rates alone: what a row in seconds derives from its samples is its scenario's own.
void check_summary(const Row& row, RowIssues& issues) {
  if (!row.summary || row.better == measure::Better::lower || row.items_per_sample <= 0) return;
  Row again = row;
  measure::summarise(again, 1);
  if (!again.summary) {
    issues.add("its samples give no summary, but it has one");
    return;
  }
  const std::pair<const char*, double measure::Summary::*> numbers[] = {
      {"median", &measure::Summary::median},
      {"mean", &measure::Summary::mean},
      {"p50", &measure::Summary::p50}};
  for (const auto& [name, member] : numbers) {
    const double stored = (*row.summary).*member;
    const double derived = (*again.summary).*member;
    if (!std::isfinite(stored) || near(stored, derived)) continue;
    issues.add(fmt::format("{} is {:.6g}, its samples give {:.6g}", name, stored, derived));
  }
  if (row.thread_policy.cpu_per_wall > 0 &&
      std::fabs(row.thread_policy.cpu_per_wall - again.thread_policy.cpu_per_wall) > 0.01) {
    issues.add(fmt::format("cpu_per_wall is {:.3f}, its runs give {:.3f}",
                           row.thread_policy.cpu_per_wall, again.thread_policy.cpu_per_wall));
  }
}

void check_threads(const Row& row, bool micro, RowIssues& issues) {
  const measure::ThreadPolicy& policy = row.thread_policy;
  if (micro && policy.name.empty()) {
    issues.add("does not say its thread policy, micro-single expected");
    return;
  }
  if (policy.name != "micro-single") {
    if (micro)
      issues.add(fmt::format("thread policy {}, micro-single expected", printable(policy.name)));
    return;
  }
  if (policy.in_force != 1)
    issues.add(fmt::format("{} threads in force, 1 expected", policy.in_force));
  if (policy.cpu_per_wall > kSingleThreadCpuLimit + measure::spare_cores(row.runs)) {
    issues.add(fmt::format("CPU time over wall time is {:.2f}, at most {} on one thread",
                           policy.cpu_per_wall, kSingleThreadCpuLimit));
  }
}

/// Runs that belong to this row, each once, in a block of its own.
void check_runs(const Row& row, std::set<std::string>& ids, RowIssues& issues) {
  std::set<int> blocks;
  const std::string belongs = fmt::format("/{}/{}/", row.case_name, row.library);
  for (const auto& run : row.runs) {
    if (!blocks.insert(run.block).second)
      issues.add(fmt::format("two runs in block {}", run.block));
    if (run.run_id.find(belongs) == std::string::npos)
      issues.add(fmt::format("run id {} is of another row", printable(run.run_id)));
    else if (!ids.insert(run.run_id).second)
      issues.add(fmt::format("run id {} occurs twice", printable(run.run_id)));
  }
}

void check_row(const results::ResultFile& file, const Row& row, std::set<std::string>& ids,
               FileCheck& check) {
  RowIssues issues(check, row);
  if (row.status != RowStatus::ok) {
    if (row.reason.empty())
      issues.add(fmt::format("{} without a reason", measure::to_string(row.status)));
    return;
  }
  check_runs(row, ids, issues);
  if (row.runs.empty()) issues.add("ok without a run");
  if (row.output_digest.empty() && !is_watched(file))
    issues.add("ok, but its output was not checked: no digest");
  if (!row.summary) issues.add("ok without a summary");
  check_samples(row, issues);
  check_summary(row, issues);
  check_threads(row, is_micro(file), issues);
  const Json* runs = config_value(file, "execution", "num_runs");
  if (runs != nullptr && runs->is_number_integer() &&
      runs->get<std::int64_t>() != static_cast<std::int64_t>(row.runs.size())) {
    issues.add(fmt::format("{} runs, the configuration asks for {}", row.runs.size(),
                           runs->get<std::int64_t>()));
  }
}

void add_warnings(const results::ResultFile& file, FileCheck& check) {
  std::map<RowStatus, std::size_t> count;
  std::size_t few = 0;
  std::size_t unstable = 0;
  std::size_t throttled = 0;
  std::size_t little = 0;
  for (const auto& row : file.rows) {
    ++count[row.status];
    if (row.status != RowStatus::ok) continue;
    little += marked_share(row).value_or(1) < kLittleMarked ? 1 : 0;
    few += row.runs.size() < 3 ? 1 : 0;
    unstable += row.summary && row.summary->unstable ? 1 : 0;
    throttled += std::any_of(row.runs.begin(), row.runs.end(),
                             [](const measure::Run& run) { return run.throttled; })
                     ? 1
                     : 0;
  }
  const auto warn = [&](std::size_t n, const std::string& what) {
    if (n > 0) check.warnings.push_back(fmt::format("{} row{} {}", n, n == 1 ? "" : "s", what));
  };
  if (is_watched(file))
    warn(count[RowStatus::ok],
         "of a watched program: its output was not checked, and its times are its own marks");
  warn(little, "whose marked steps cover less than a tenth of what the program ran");
  warn(few, "with fewer than 3 runs: no comparison can judge them");
  warn(count[RowStatus::unsupported], "unsupported");
  warn(count[RowStatus::early_stopped], "stopped early");
  warn(unstable, "unstable");
  warn(throttled, "with runs that the kernel throttled");
  warn(count[RowStatus::failed], "failed");
  warn(count[RowStatus::skipped], "skipped");
}

/// The file, or the check that says why it cannot be read.
struct Checked {
  FileCheck check;
  std::optional<results::ResultFile> file;
};

Checked check_file(const std::filesystem::path& path) {
  Checked loaded;
  loaded.check.path = path.string();
  const auto unreadable = [&](const Error& error) {
    loaded.check.readable = false;
    loaded.check.issues.push_back(error.message);
    return loaded;
  };
  const auto text = read_text_file(path);
  if (!text) return unreadable(text.error());
  const auto json = parse_json(*text, path.string());
  if (!json) return unreadable(json.error());
  auto file = results::from_json(*json, path.string());
  if (!file) {
    loaded.check.issues.push_back(file.error().message);
    return loaded;
  }
  loaded.check = validate(*file, path.string());
  loaded.file = std::move(*file);
  return loaded;
}

/// Blocks can be paired across files only if one machine drew one order over the same data.
void check_session(const results::ResultFile& first, const std::string& first_path,
                   const results::ResultFile& file, FileCheck& check) {
  const auto differs = [&](bool different, const char* what) {
    if (different) {
      check.issues.push_back(fmt::format("session {}: {} differs from that of {}",
                                         printable(file.session_id), what, printable(first_path)));
    }
  };
  differs(first.block_order_seed != file.block_order_seed, "block_order_seed");
  differs(first.machine_profile != file.machine_profile, "machine_profile");
  differs(first.tool.git != file.tool.git || first.tool.version != file.tool.version, "tool");
}

/// Files in turn; each is held against the first of its session.
class Sessions {
 public:
  void add(results::ResultFile file, FileCheck& check) {
    const auto known = heads_.find(file.session_id);
    if (known != heads_.end())
      check_session(known->second.second, known->second.first, file, check);
    file.rows.clear();
    file.canary.clear();
    const std::string id = file.session_id;
    heads_.try_emplace(id, check.path, std::move(file));
  }

 private:
  std::map<std::string, std::pair<std::string, results::ResultFile>> heads_;
};

Error unsound(const FileCheck& check) {
  const std::size_t more = check.issues.size() - 1;
  const std::string path = printable(check.path);
  return Error{
      Errc::invalid_input,
      fmt::format("{}: is not sound: {}{}; see `sluice validate {}`", path, check.issues.front(),
                  more == 0 ? "" : fmt::format(" and {} more", more), path)};
}

}  // namespace

bool Validation::readable() const {
  return std::all_of(files.begin(), files.end(), [](const FileCheck& f) { return f.readable; });
}

bool Validation::sound() const {
  return std::all_of(files.begin(), files.end(),
                     [](const FileCheck& f) { return f.issues.empty(); });
}

FileCheck validate(const results::ResultFile& file, const std::string& path) {
  FileCheck check;
  check.path = path;
  check.rows = file.rows.size();
  if (file.rows.empty()) check.issues.emplace_back("holds no row");
  if (file.session_id.empty()) check.issues.emplace_back("names no session");
  std::set<RowKey> keys;
  std::set<std::string> ids;
  for (const auto& row : file.rows) {
    if (!keys.insert(key_of(row)).second) check.issues.push_back(row_name(row) + ": occurs twice");
    check_row(file, row, ids, check);
  }
  add_warnings(file, check);
  return check;
}

Validation validate_paths(const std::vector<std::filesystem::path>& paths) {
  Validation out;
  Sessions sessions;
  const auto add = [&](const std::filesystem::path& path) {
    Checked loaded = check_file(path);
    if (loaded.file) sessions.add(std::move(*loaded.file), loaded.check);
    out.files.push_back(std::move(loaded.check));
  };
  for (const auto& path : paths) {
    const auto found = results::find(path);
    if (found) {
      for (const auto& file : *found)
        add(file);
      continue;
    }
    FileCheck missing;
    missing.path = path.string();
    missing.readable = false;
    missing.issues.push_back(found.error().message);
    out.files.push_back(std::move(missing));
  }
  return out;
}

Result<std::vector<results::ResultFile>> read_sound(
    const std::vector<std::filesystem::path>& paths) {
  std::vector<results::ResultFile> files;
  Sessions sessions;
  for (const auto& path : paths) {
    SLUICE_TRY(results::ResultFile file, results::read(path));
    FileCheck check = validate(file, path.string());
    sessions.add(file, check);
    if (!check.issues.empty()) return unsound(check);
    files.push_back(std::move(file));
  }
  return files;
}

Json to_json(const Validation& validation) {
  Json files = Json::array();
  for (const auto& file : validation.files) {
    files.push_back({{"path", file.path},
                     {"readable", file.readable},
                     {"sound", file.issues.empty()},
                     {"rows", file.rows},
                     {"issues", file.issues},
                     {"warnings", file.warnings}});
  }
  return Json{{"sound", validation.sound()}, {"files", std::move(files)}};
}

}  // namespace sluice::analysis
