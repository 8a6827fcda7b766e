// sluice/cli/output_files.cpp - is the file ours? Digests beside it say so.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/output_files.h"

#include "sluice/core/file_lock.h"
#include "sluice/core/json.h"
#include "sluice/core/log.h"
#include "sluice/core/sha256.h"

#include <fmt/format.h>

#include <system_error>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDigests = ".sluice-files.json";
constexpr const char* kDigestsLock = ".sluice-files.lock";
constexpr double kDigestsWaitS = 10;

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// By name; a file that cannot be read knows none.
std::map<std::string, std::string> known_digests(const fs::path& folder) {
  std::map<std::string, std::string> known;
  const auto text = read_text_file(folder / kDigests);
  const auto json = text ? parse_json(*text, kDigests) : Result<Json>(Json());
  if (!json || !json->is_object() || !json->contains("files")) return known;
  for (const auto& [name, digest] : (*json)["files"].items())
    if (digest.is_string()) known[name] = digest.get<std::string>();
  return known;
}

Status remember(const fs::path& folder, const std::map<std::string, std::string>& digests) {
  SLUICE_TRY(const FileLock lock,
             FileLock::take(folder / kDigestsLock, shown(folder), {.limit_s = kDigestsWaitS}));
  Json files = Json::object();
  for (const auto& [name, digest] : known_digests(folder)) {
    std::error_code unknown;
    if (fs::exists(folder / name, unknown)) files[name] = digest;
  }
  for (const auto& [name, digest] : digests)
    files[name] = digest;
  std::error_code ignored;
  if (files.empty() && (fs::remove(folder / kDigests, ignored) || !ignored)) return ok;
  return write_file_atomic(folder / kDigests, dump_json(Json{{"files", std::move(files)}}) + "\n",
                           Flush::later);
}

/// A snapshot for others has neither: `publish` copies what lies below results/.
bool is_run_folder(const fs::path& folder) {
  std::error_code unknown;
  return fs::is_directory(folder / "results", unknown) &&
         (fs::exists(folder / "env.json", unknown) || fs::exists(folder / kLockInFolder, unknown));
}

bool lies_in_run_folder(const fs::path& folder) {
  std::error_code code;
  fs::path at = fs::weakly_canonical(folder, code);
  for (; !code && at.has_relative_path(); at = at.parent_path())
    if (is_run_folder(at)) return true;
  return false;
}

Error not_ours(const fs::path& file) {
  return {Errc::usage,
          fmt::format("{}: exists, and sluice did not write it or it was changed since; name "
                      "another place, or overwrite it with --force",
                      shown(file))};
}

/// `known`: digests of its folder.
bool is_ours(const fs::path& file, const std::map<std::string, std::string>& known) {
  const auto digest = known.find(file.filename().string());
  if (digest == known.end()) return false;
  if (digest->second.empty()) return true;  // what a killed command left
  const auto content = read_text_file(file);
  return content && sha256_hex(*content) == digest->second;
}

bool holds(const fs::path& file, std::string_view mark) {
  const auto text = read_text_file(file);
  return text && text->find(mark) != std::string::npos;
}

}  // namespace

void add_force_flag(CLI::App& command, Globals& globals) {
  command.add_flag("--force", globals.force, "overwrite files that sluice did not write");
}

OutputFiles::~OutputFiles() {
  for (const auto& [folder, digests] : whole_) {
    const Status remembered = remember(folder, digests);
    if (!remembered) log::warn("{}", remembered.error().message);
  }
}

Status OutputFiles::claim(const std::vector<fs::path>& files, NamedBy named_by,
                          std::string_view mark) {
  std::map<fs::path, Digests> known, begun;
  std::map<fs::path, bool> claimed;
  for (const fs::path& file : files) {
    const fs::path folder = folder_of(file);
    if (!known.contains(folder)) known[folder] = known_digests(folder);
    const bool of_run = named_by == NamedBy::us && is_run_folder(folder);
    const bool remembered = mark.empty() && !of_run;
    std::error_code unknown;
    const bool there = fs::exists(fs::symlink_status(file, unknown));
    const bool ours = mark.empty() ? of_run || is_ours(file, known[folder]) : holds(file, mark);
    if (there && !ours && !force_) return not_ours(file);
    claimed[file] = remembered;
    if (remembered) begun[folder][file.filename().string()] = "";
  }
  for (const fs::path& file : files)
    SLUICE_CHECK(create_folders(folder_of(file)));
  for (const auto& [folder, names] : begun) {
    SLUICE_CHECK(remember(folder, names));
    whole_.try_emplace(folder);  // what comes to nothing is forgotten again
  }
  claimed_.merge(claimed);
  return ok;
}

Status OutputFiles::write(const fs::path& file, std::string_view content, Flush flush) {
  if (!claimed_.contains(file)) SLUICE_CHECK(claim({file}));
  SLUICE_CHECK(write_file_atomic(file, content, flush));
  if (claimed_[file]) whole_[folder_of(file)][file.filename().string()] = sha256_hex(content);
  return ok;
}

void OutputFiles::written(const fs::path& file) {
  const auto content = read_text_file(file);
  if (content && claimed_[file])
    whole_[folder_of(file)][file.filename().string()] = sha256_hex(*content);
}

Result<fs::path> folder_beside(const fs::path& input) {
  std::error_code unknown;
  const fs::path folder = fs::is_directory(input, unknown) ? input : folder_of(input);
  if (lies_in_run_folder(folder)) return folder;
  return Error{Errc::usage,
               fmt::format("{}: is not of a run folder (results/ with env.json), so nothing is "
                           "written beside it; say where with --out DIR",
                           shown(input))};
}

Status write_output(const Globals& globals, const fs::path& file, std::string_view content) {
  OutputFiles files(globals);
  return files.write(file, content);
}

}  // namespace sluice::cli
