// sluice/report/ci/files.h - the files of a performance gate in CI, as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <string>
#include <vector>

namespace sluice::report {

enum class CiProvider { github, gitlab };

struct CiOptions {
  CiProvider provider = CiProvider::github;
  std::vector<std::string> runner;  // labels; empty: ubuntu-latest, or no tags
  std::string baseline_branch = "main";
  std::string baseline_dir = "bench/baselines";
  std::string build = "make build";  // what makes the program on the runner
  std::string program = "./sluice";  // as a step calls it
  std::string gate_flags = "--quick";
  int artifact_days = 30;
  int timeout_minutes = 60;
};

/// Names that end up in YAML and in shell lines: letters, digits and a few signs. An Error names
/// the flag and what is accepted.
Status check(const CiOptions& options);

struct CiFile {
  std::string path;  // relative to the repository
  std::string text;  // holds kCiMarker
};

/// In every file that `sluice ci` writes, so that it overwrites no other.
inline constexpr const char* kCiMarker = "Written by `sluice ci`";

/// The workflow first, then docs/perf.md. `options` passed check().
std::vector<CiFile> ci_files(const CiOptions& options);

// One file each (ci_github.cpp, ci_gitlab.cpp, ci_page.cpp).
std::string github_workflow(const CiOptions& options);
std::string gitlab_jobs(const CiOptions& options);
std::string ci_page(const CiOptions& options);

/// `text` with every @NAME@ of the options replaced. A name that is not known stays.
std::string filled(const CiOptions& options, std::string text);

}  // namespace sluice::report
