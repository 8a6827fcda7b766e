// sluice/gate/baseline/store.h - stored baselines: <dir>/<key>.{metrics,eval}.json of the run that
// was promoted last, and <key>.history.jsonl of all that were. A key is a machine profile, or
// <profile>.<digest of the workload>: a machine has a baseline for each thing that is trained on
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file_lock.h"
#include "sluice/gate/baseline/compare.h"
#include "sluice/gate/baseline/history.h"

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::gate {

inline constexpr const char* kBaselineDir = "bench/baselines";

struct BaselinePaths {
  std::filesystem::path metrics, eval, history;
};
inline constexpr const char *kMetricsEnd = ".metrics.json", *kEvalEnd = ".eval.json",
                            *kHistoryEnd = ".history.jsonl";
/// Keys of the files in `dir` with one of these endings; none where there is no folder.
Result<std::set<std::string>> baseline_keys(const std::filesystem::path& dir,
                                            std::initializer_list<std::string_view> endings);
/// Errc::invalid_input for a key that is no file name (letters, digits and . _ - only).
Result<BaselinePaths> baseline_paths(const std::filesystem::path& dir, const std::string& key);

/// Held while baselines in `dir`, which exists, are read to be changed. Waits for other processes
/// until `cancel_fd` is readable, or for a minute.
Result<FileLock> lock_baselines(const std::filesystem::path& dir, int cancel_fd);

/// metrics.json and eval.json of a run folder; one that is not there is absent, a folder that is
/// not there an error. NaN in a file is Errc::measurement: the run is invalid.
Result<RunFiles> read_run_files(const std::filesystem::path& folder);

struct Baseline {
  RunFiles files;  // both absent: there is none
  std::vector<Visit> history;
};
/// A pair of which only one half was replaced (the machine stopped in between) is an error; one
/// that another process is replacing is waited for.
Result<Baseline> read_baseline(const std::filesystem::path& dir, const std::string& key);
/// The same for who holds the lock, and must not wait for itself.
Result<Baseline> read_baseline(const std::filesystem::path& dir, const std::string& key,
                               const FileLock& held);

/// metrics.json and eval.json as they are stored, whether or not they belong together.
Result<RunFiles> read_stored_files(const BaselinePaths& paths);

/// "vit5-tiny, batch 8, fp32, synthetic"; empty: the files do not tell.
std::string work_words(const RunFiles& files);

/// Where the baseline of a run is stored, or would be: under its profile and the digest of its
/// workload; where another of the profile is of the same work, as other programs and earlier
/// versions name it (<profile> alone, or by fewer fields), there.
Result<std::string> key_of(const std::filesystem::path& dir, const RunFiles& run);

/// The baseline of a run; without one, that of its profile which differs in the fewest fields, for
/// the verdict to name them; without any, both files are absent.
Result<Baseline> baseline_for(const std::filesystem::path& dir, const RunFiles& run);

/// All baselines of a profile, or an error that names the first which cannot be read.
Result<std::vector<RunFiles>> baselines_of(const std::filesystem::path& dir,
                                           const std::string& profile);

struct BaselineInfo {
  std::string key, profile;
  std::string work;  // "vit5-tiny, batch 8, fp32, synthetic"; empty: it does not tell
  bool has_eval = false;
  std::string timestamp, commit;
  std::size_t visits = 0;
  std::string problem;  // why it cannot be read; empty: it can
};
/// By key. A folder that is not there holds none.
Result<std::vector<BaselineInfo>> list_baselines(const std::filesystem::path& dir);

/// Keeps the newest `keep` visits of a key's history; returns how many went.
Result<std::size_t> prune_history(const std::filesystem::path& dir, const std::string& key,
                                  std::size_t keep, int cancel_fd = -1);
/// Removes all files of a key; Errc::not_found without any.
Status remove_baseline(const std::filesystem::path& dir, const std::string& key,
                       int cancel_fd = -1);

}  // namespace sluice::gate
