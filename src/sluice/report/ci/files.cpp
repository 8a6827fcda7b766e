// sluice/report/ci/files.cpp - what may stand in the files, and where they lie.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/ci/files.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <string_view>

namespace sluice::report {
namespace {

bool made_of(std::string_view text, std::string_view signs) {
  for (const char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!word && signs.find(c) == signs.npos) return false;
  }
  return !text.empty();
}

Error refused(const char* flag, const std::string& value, const char* accepted) {
  return Error{Errc::usage, fmt::format("{} '{}': {}", flag, printable(value), accepted)};
}

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string runner_of(const CiOptions& options) {
  if (options.runner.empty()) return "ubuntu-latest";
  return options.runner.size() == 1 ? options.runner.front() : "[" + join(options.runner) + "]";
}

/// A scalar that YAML reads back as it is.
std::string yaml_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

}  // namespace

Status check(const CiOptions& options) {
  for (const std::string& label : options.runner)
    if (!made_of(label, "._-"))
      return refused("--runner", label, "labels of letters, digits, '.', '_' and '-', by commas");
  if (!made_of(options.baseline_branch, "._/-") || options.baseline_branch.front() == '-')
    return refused("--baseline-branch", options.baseline_branch, "expected the name of a branch");
  if (!made_of(options.baseline_dir, "._/-") || options.baseline_dir.front() == '-')
    return refused("--baseline-dir", options.baseline_dir,
                   "expected a folder of the repository, of letters, digits, '.', '_', '/', '-'");
  if (!made_of(options.program, "._/-"))
    return refused("--program", options.program, "expected the path or name of the program");
  // Shell lines of the user's own: nothing may end the line or the block.
  for (const auto& [flag, value] :
       {std::pair{"--build", &options.build}, std::pair{"--gate-flags", &options.gate_flags}}) {
    if (value->find_first_of("\n\r") != std::string::npos || printable(*value) != *value)
      return refused(flag, *value, "expected one line of plain text");
  }
  return ok;
}

std::string filled(const CiOptions& options, std::string text) {
  replace_all(text, "@MARKER@", kCiMarker);
  replace_all(text, "@RUNNER@", runner_of(options));
  replace_all(text, "@BRANCH@", options.baseline_branch);
  replace_all(text, "@BASELINES@", options.baseline_dir);
  replace_all(text, "@SLUICE@", options.program);
  replace_all(text, "@DAYS@", std::to_string(options.artifact_days));
  replace_all(text, "@MINUTES@", std::to_string(options.timeout_minutes));
  replace_all(text, "@TAGS@",
              options.runner.empty() ? "" : "  tags: [" + join(options.runner) + "]\n");
  replace_all(text, "@BUILD_TEXT@", yaml_quoted(options.build));
  replace_all(text, "@BUILD@", options.build);
  replace_all(text, " @FLAGS@", options.gate_flags.empty() ? "" : " " + options.gate_flags);
  return text;
}

std::vector<CiFile> ci_files(const CiOptions& options) {
  const bool github = options.provider == CiProvider::github;
  return {{github ? ".github/workflows/perf_gate.yml" : ".gitlab/perf_gate.yml",
           github ? github_workflow(options) : gitlab_jobs(options)},
          {"docs/perf.md", ci_page(options)}};
}

}  // namespace sluice::report
