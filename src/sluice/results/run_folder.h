// sluice/results/run_folder.h - the folder of one run: made or continued, locked, and written file
// by file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/results/result_file.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::results {

/// Holds a lock on the folder for as long as it lives: a second run on the same folder is refused.
class RunFolder {
 public:
  struct Options {
    std::filesystem::path out{};  // what --out names; empty: `<parent>/<utc>-<name>-<profile>`
    bool resume = false;          // continue `out`; without it one that holds anything finished is
                                  // refused
    std::string name{};           // "quick"; characters unfit for a file name become '-'
    std::string profile{};        // machine profile
    std::string utc{};            // "20250131T235959Z"; empty: now
    std::filesystem::path parent = "runs";
  };
  static Result<RunFolder> open(const Options& options);

  RunFolder(RunFolder&&) noexcept;
  RunFolder& operator=(RunFolder&&) noexcept;
  ~RunFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path results() const { return path_ / "results"; }
  /// True when the folder held something finished of a run before it was opened; what a run left
  /// that came to nothing is removed then.
  [[nodiscard]] bool resumed() const { return resumed_; }

  Status write_environment(const Json& environment) const;  // env.json
  Status write_config(std::string_view yaml) const;         // resolved_config.yaml
  Status write_report(std::string_view markdown,
                      std::string_view html) const;  // report.md, report.html
  /// `relative` lies under results/: "quick_results.json", "rgb/micro/sluice_micro_results.json".
  Status write_result(const std::filesystem::path& relative, const ResultFile& file) const;

 private:
  struct Lock;
  RunFolder(std::filesystem::path path, std::unique_ptr<Lock> lock, bool resumed);
  std::filesystem::path path_;
  std::unique_ptr<Lock> lock_;
  bool resumed_ = false;
};

/// `text` with everything but letters, digits, '.', '_' and '-' replaced by '-'; never empty, never
/// "." or "..".
std::string file_name_part(std::string_view text);

}  // namespace sluice::results
