// sluice/gate/baseline/store.cpp - reads, lists and shortens what is stored of machines and work.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/store.h"

#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/gate/baseline/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

namespace sluice::gate {
namespace {

namespace fs = std::filesystem;

constexpr double kLockWaitS = 60;

/// Python writes NaN into JSON; that is no broken file but a broken run.
bool holds_nan(const std::string& text) {
  return text.find(": NaN") != std::string::npos || text.find(": Infinity") != std::string::npos ||
         text.find(": -Infinity") != std::string::npos;
}

/// The object, or nothing when there is no such file; `text` gets what was read.
Result<std::optional<Json>> read_object(const fs::path& path, std::string* text = nullptr) {
  const auto content = read_text_file(path);
  if (!content && content.error().code == Errc::not_found) return std::optional<Json>();
  if (!content) return content.error();
  auto json = parse_json(*content, path.string());
  if (!json && holds_nan(*content))
    return Error{Errc::measurement,
                 fmt::format("{}: holds NaN or Infinity; such a run is invalid", shown(path))};
  if (!json) return json.error();
  if (!json->is_object())
    return Error{Errc::invalid_input, fmt::format("{}: is no JSON object", shown(path))};
  if (text != nullptr) *text = *content;
  return std::optional<Json>(std::move(*json));
}

/// The last line of a history, as it stands; null without one.
Result<Json> last_entry(const fs::path& path) {
  const auto text = read_text_file(path);
  if (!text) return Json();
  const std::vector<std::string> lines = split(*text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (!line->empty()) return parse_json(*line, path.string());
  return Json();
}

/// Promotion replaces two files one after the other; the history says what both should be.
Status check_pair(const BaselinePaths& paths, const std::string& metrics, const std::string& eval) {
  SLUICE_TRY(const Json entry, last_entry(paths.history));
  if (!entry.is_object() || !entry.contains("metrics_sha256") || !entry.contains("eval_sha256") ||
      !entry["eval_sha256"].is_string())
    return ok;
  const bool same_metrics = entry["metrics_sha256"] == sha256_hex(metrics);
  const bool same_eval = entry["eval_sha256"] == sha256_hex(eval);
  if (same_metrics == same_eval) return ok;
  return Error{
      Errc::invalid_input,
      fmt::format("{}: does not belong to the same run as its {} file; promote a run again",
                  shown(same_metrics ? paths.eval : paths.metrics),
                  same_metrics ? "metrics" : "eval")};
}

Result<Baseline> read_files(const fs::path& dir, const BaselinePaths& paths) {
  Baseline baseline;
  baseline.files.name = dir.string();
  std::string metrics;
  std::string eval;
  SLUICE_TRY(const auto stored, read_object(paths.metrics, &metrics));
  if (stored) baseline.files.metrics = results::training_metrics_of(*stored);
  SLUICE_TRY(baseline.files.eval, read_object(paths.eval, &eval));
  if (baseline.files.metrics) baseline.files.name = paths.metrics.string();
  if (baseline.files.metrics && baseline.files.eval) SLUICE_CHECK(check_pair(paths, metrics, eval));
  SLUICE_TRY(baseline.history, read_history(paths.history));
  return baseline;
}

Error no_baseline(const fs::path& dir, const std::string& key) {
  return {Errc::not_found, fmt::format("{}: no baseline {}", shown(dir), printable(key))};
}

}  // namespace

std::string work_words(const RunFiles& files) {
  if (!files.metrics) return "";
  const results::TrainingMetrics::Config& config = files.metrics->config;
  std::vector<std::string> words;
  const auto add = [&](const std::string& word) {
    if (!word.empty()) words.push_back(printable(word));
  };
  add(config.model);
  if (config.per_device_batch_size) add(fmt::format("batch {}", *config.per_device_batch_size));
  add(config.dtype);
  add(config.mode);
  return join(words);
}

Result<RunFiles> read_stored_files(const BaselinePaths& paths) {
  RunFiles files;
  files.name = paths.metrics.string();
  SLUICE_TRY(const auto stored, read_object(paths.metrics));
  if (stored) files.metrics = results::training_metrics_of(*stored);
  SLUICE_TRY(files.eval, read_object(paths.eval));
  return files;
}

Result<FileLock> lock_baselines(const fs::path& dir, int cancel_fd) {
  return FileLock::take(
      dir / kLockInFolder, shown(dir),
      {.limit_s = kLockWaitS, .cancel_fd = cancel_fd, .waiting = [&](const std::string& holder) {
         log::warn("{}: {} is writing it; waiting for it", shown(dir), holder);
       }});
}

Result<BaselinePaths> baseline_paths(const fs::path& dir, const std::string& key) {
  const bool sound =
      !key.empty() && key.front() != '.' && std::ranges::all_of(key, [](unsigned char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '.' || c == '_' || c == '-';
      });
  if (!sound)
    return Error{
        Errc::invalid_input,
        fmt::format("baseline '{}': expected letters, digits and . _ - only", printable(key))};
  return BaselinePaths{dir / (key + kMetricsEnd), dir / (key + kEvalEnd),
                       dir / (key + kHistoryEnd)};
}

Result<RunFiles> read_run_files(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return Error{Errc::not_found, fmt::format("{}: no such run folder", shown(folder))};
  RunFiles files;
  files.name = folder.string();
  SLUICE_TRY(const auto metrics, read_object(folder / "metrics.json"));
  if (metrics) files.metrics = results::training_metrics_of(*metrics);
  SLUICE_TRY(files.eval, read_object(folder / "eval.json"));
  return files;
}

Result<Baseline> read_baseline(const fs::path& dir, const std::string& key,
                               const FileLock& /*held*/) {
  SLUICE_TRY(const BaselinePaths paths, baseline_paths(dir, key));
  return read_files(dir, paths);
}

Result<Baseline> read_baseline(const fs::path& dir, const std::string& key) {
  SLUICE_TRY(const BaselinePaths paths, baseline_paths(dir, key));
  auto baseline = read_files(dir, paths);
  std::error_code ignored;
  if (baseline || !fs::exists(dir / kLockInFolder, ignored)) return baseline;
  // A promotion is under way, which replaces its files one by one: what is there when it is done?
  const auto lock = lock_baselines(dir, -1);
  return read_files(dir, paths);
}

Result<std::set<std::string>> baseline_keys(const fs::path& dir,
                                            std::initializer_list<std::string_view> endings) {
  std::set<std::string> keys;
  std::error_code code;
  if (!fs::exists(dir, code)) return keys;
  for (fs::directory_iterator it(dir, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    for (const std::string_view ending : endings)
      if (name.ends_with(ending)) keys.insert(name.substr(0, name.size() - ending.size()));
  }
  if (code)
    return Error{Errc::io, fmt::format("{}: cannot be listed: {}", shown(dir), code.message())};
  return keys;
}

namespace {

struct Stored {
  std::string key;
  Result<Baseline> baseline;
};

/// Every baseline of a folder, each read once; by key. A folder that is not there holds none.
Result<std::vector<Stored>> read_all(const fs::path& dir) {
  SLUICE_TRY(const std::set<std::string> keys, baseline_keys(dir, {kMetricsEnd, kEvalEnd}));
  std::vector<Stored> all;
  for (const std::string& key : keys)
    all.push_back({key, read_baseline(dir, key)});
  return all;
}

/// `key` is of `profile`: the name alone, or with the digest of a workload.
bool is_of(const std::string& key, const std::string& profile) {
  return key == profile ||
         (key.starts_with(profile + ".") && key.find('.', profile.size() + 1) == std::string::npos);
}

Result<std::vector<Stored>> read_of(const fs::path& dir, const std::string& profile) {
  SLUICE_TRY(std::vector<Stored> all, read_all(dir));
  std::erase_if(all, [&](const Stored& one) { return !is_of(one.key, profile); });
  return all;
}

std::string own_key(const RunFiles& run) {
  return fmt::format("{}.{}", run.machine_profile(), workload_digest(run));
}

/// That of the run's own key; else the first of the same work. A broken one under the name of the
/// machine alone is that of the run, to be told or replaced.
const Stored* of_equal_work(const std::vector<Stored>& stored, const RunFiles& run) {
  const std::string own = own_key(run);
  const Stored* same = nullptr;
  for (const Stored& one : stored) {
    if (one.key == own) return &one;
    if (same != nullptr) continue;
    const bool fits = one.baseline
                          ? differences(workload_of(one.baseline->files), workload_of(run)).empty()
                          : one.key == run.machine_profile();
    if (fits) same = &one;
  }
  return same;
}

}  // namespace

Result<std::string> key_of(const fs::path& dir, const RunFiles& run) {
  SLUICE_TRY(const std::vector<Stored> stored, read_of(dir, run.machine_profile()));
  const Stored* same = of_equal_work(stored, run);
  return same != nullptr ? same->key : own_key(run);
}

Result<Baseline> baseline_for(const fs::path& dir, const RunFiles& run) {
  SLUICE_TRY(std::vector<Stored> stored, read_of(dir, run.machine_profile()));
  if (const Stored* same = of_equal_work(stored, run)) return same->baseline;
  std::optional<Baseline> nearest;
  std::size_t fewest = 0;
  for (Stored& one : stored) {
    SLUICE_CHECK(one.baseline);
    const std::size_t differing =
        differences(workload_of(one.baseline->files), workload_of(run)).size();
    if (nearest && differing >= fewest) continue;
    nearest = std::move(*one.baseline);
    fewest = differing;
  }
  if (nearest) return *std::move(nearest);
  Baseline none;
  none.files.name = dir.string();
  return none;
}

Result<std::vector<RunFiles>> baselines_of(const fs::path& dir, const std::string& profile) {
  SLUICE_CHECK(baseline_paths(dir, profile));
  SLUICE_TRY(std::vector<Stored> stored, read_of(dir, profile));
  std::vector<RunFiles> files;
  for (Stored& one : stored) {
    SLUICE_CHECK(one.baseline);
    files.push_back(std::move(one.baseline->files));
  }
  return files;
}

Result<std::vector<BaselineInfo>> list_baselines(const fs::path& dir) {
  std::vector<BaselineInfo> list;
  SLUICE_TRY(const std::vector<Stored> stored, read_all(dir));
  for (const Stored& one : stored) {
    BaselineInfo info;
    info.key = one.key;
    if (!one.baseline) {
      info.problem = one.baseline.error().message;
    } else {
      const RunFiles& files = one.baseline->files;
      if (!files.metrics) continue;  // an eval alone is no baseline of a training
      const Visit visit = visit_of(files);
      info.profile = files.machine_profile();
      info.work = work_words(files);
      info.has_eval = files.eval.has_value();
      info.timestamp = visit.timestamp;
      info.commit = visit.commit;
      info.visits = one.baseline->history.size();
    }
    list.push_back(std::move(info));
  }
  return list;
}

Result<std::size_t> prune_history(const fs::path& dir, const std::string& key, std::size_t keep,
                                  int cancel_fd) {
  SLUICE_TRY(const BaselinePaths paths, baseline_paths(dir, key));
  std::error_code ignored;
  if (!fs::is_directory(dir, ignored)) return no_baseline(dir, key);
  SLUICE_TRY(const FileLock lock, lock_baselines(dir, cancel_fd));
  SLUICE_TRY(const std::string text, read_text_file(paths.history));
  std::vector<std::string> lines = split(text, '\n');
  std::erase_if(lines, [](const std::string& line) { return line.empty(); });
  if (lines.size() <= keep) return std::size_t{0};
  const std::size_t gone = lines.size() - keep;
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(gone));
  SLUICE_CHECK(
      write_file_atomic(paths.history, lines.empty() ? std::string() : join(lines, "\n") + "\n"));
  return gone;
}

Status remove_baseline(const fs::path& dir, const std::string& key, int cancel_fd) {
  SLUICE_TRY(const BaselinePaths paths, baseline_paths(dir, key));
  std::error_code ignored;
  if (!fs::is_directory(dir, ignored)) return no_baseline(dir, key);
  SLUICE_TRY(const FileLock lock, lock_baselines(dir, cancel_fd));
  bool any = false;
  for (const fs::path& path : {paths.metrics, paths.eval, paths.history}) {
    std::error_code code;
    any = fs::remove(path, code) || any;
    if (code)
      return Error{Errc::io, fmt::format("{}: cannot be removed: {}", shown(path), code.message())};
  }
  if (!any) return no_baseline(dir, key);
  return ok;
}

}  // namespace sluice::gate
