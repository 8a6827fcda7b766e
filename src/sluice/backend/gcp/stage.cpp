// sluice/backend/gcp/stage.cpp - copies, moves and looks.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/stage.h"

#include "sluice/backend/gcp/remote_paths.h"
#include "sluice/backend/gcp/startup_script.h"
#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/results/result_file.h"
#include "sluice/results/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sluice::backend::gcp {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBundleBytes = std::uint64_t{50} << 20;

Error cannot(const char* what, const fs::path& path, const std::error_code& code) {
  return {Errc::io, fmt::format("{}: cannot be {}: {}", shown(path), what, code.message())};
}

/// Rows that count: finished, or not attempted because the plan says so.
bool has_rows_of(const plan::Job& job, const plan::RunConfig& config,
                 const results::ResultFile& file) {
  const auto finished = results::finished_cases(file);
  for (const plan::Case& one : job.cases) {
    for (const std::string& library : job.row_libraries) {
      const auto row =
          std::find_if(file.rows.begin(), file.rows.end(), [&](const measure::Row& candidate) {
            return candidate.case_name == one.name && candidate.library == library;
          });
      if (row == file.rows.end()) return false;
      if (row->status == measure::RowStatus::ok &&
          static_cast<std::int64_t>(row->runs.size()) < config.execution.num_runs)
        return false;
      if (!one.excluded && !finished.contains({one.name, library})) return false;
    }
  }
  return true;
}

Status write_text(const fs::path& path, const std::string& text) {
  return write_file_atomic(path, text, Flush::later);
}

}  // namespace

bool has_all_rows(const plan::Plan& plan, const fs::path& folder) {
  for (const plan::Job& job : plan.jobs) {
    const auto file = results::read(folder / "results" / job.output);
    if (!file || !has_rows_of(job, plan.config, *file)) return false;
  }
  return !plan.jobs.empty();
}

bool has_some_rows(const plan::Plan& plan, const fs::path& folder) {
  std::error_code ignored;
  return std::any_of(
      plan.expected_outputs.begin(), plan.expected_outputs.end(),
      [&](const fs::path& output) { return fs::exists(folder / "results" / output, ignored); });
}

Status write_stage(const Machine& machine, const fs::path& stage, const fs::path& results,
                   bool resume) {
  std::error_code code;
  fs::remove_all(stage, code);
  SLUICE_CHECK(create_folders(stage));
  SLUICE_CHECK(write_text(stage / kStartupScript, machine.script));
  SLUICE_CHECK(write_text(stage / kJobFile, machine.job));
  SLUICE_CHECK(write_text(stage / kConfigFile, machine.config));
  if (!resume) return ok;
  SLUICE_CHECK(create_folders(stage / kEarlier));
  for (const char* name : {"results", "env.json", "resolved_config.yaml"}) {
    if (!fs::exists(results / name, code)) continue;
    fs::copy(results / name, stage / kEarlier / name, fs::copy_options::recursive, code);
    if (code) return cannot("copied", results / name, code);
  }
  return ok;
}

Result<Bundles> look_at_bundles(const std::vector<fs::path>& files) {
  if (files.empty()) {
    return usage_error(
        "--bundle: needed: the archive with the program for the machines; `make dist` writes it, "
        "--dry-run needs none");
  }
  Sha256 digest;
  for (const fs::path& file : files) {
    SLUICE_TRY(const std::string bytes, read_text_file(file, kMostBundleBytes));
    digest.update(fmt::format("{}\n", bytes.size()));
    digest.update(bytes);
  }
  return Bundles{digest.hex().substr(0, 16), static_cast<int>(files.size())};
}

Status write_bundles(const std::vector<fs::path>& files, const fs::path& stage) {
  SLUICE_CHECK(create_folders(stage));
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::error_code code;
    fs::copy_file(files[i], stage / bundle_name(static_cast<int>(i)),
                  fs::copy_options::overwrite_existing, code);
    if (code) return cannot("copied", files[i], code);
  }
  return ok;
}

Status take_pulled(const fs::path& pulled, const fs::path& folder) {
  SLUICE_CHECK(create_folders(folder));
  const auto move = [&](const fs::path& from, const fs::path& to) -> Status {
    SLUICE_CHECK(create_folders(to.parent_path()));
    std::error_code code;
    fs::rename(from, to, code);
    return code ? Status(cannot("moved", from, code)) : Status(ok);
  };
  std::vector<fs::path> files;
  std::error_code code;
  const fs::path run = pulled / kRunFolder;
  for (fs::recursive_directory_iterator it(run, code), end; !code && it != end; it.increment(code))
    if (it->is_regular_file(code) && it->path().filename() != kLockInFolder)
      files.push_back(it->path());
  for (const fs::path& file : files)
    SLUICE_CHECK(move(file, folder / file.lexically_relative(run)));
  for (const char* name : {kVmLog, kExitCode, kRunMeta}) {
    if (fs::exists(pulled / name, code)) SLUICE_CHECK(move(pulled / name, folder / name));
  }
  return ok;
}

std::optional<int> exit_code_in(const fs::path& folder) {
  const auto text = read_text_file(folder / kExitCode, 4096);
  if (!text) return std::nullopt;
  const std::string_view digits = trimmed(*text);
  int value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace sluice::backend::gcp
