// sluice/visit/gate/kept_program.cpp - copies of this program in the cache folder, by digest.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/kept_program.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/module.h"
#include "sluice/core/sha256.h"
#include "sluice/peers/places.h"
#include "sluice/storage/format/crc32c.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostPrograms = 4;
constexpr const char* kProgramName = "sluice";
constexpr const char* kMaking = "making";  // a copy that is not whole yet
constexpr double kLockWaitS = 60;

bool is_module(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("libsluice_") && name.ends_with(".so");
}

/// By name; of a name in two folders the first.
std::vector<fs::path> modules_in(const std::vector<fs::path>& folders) {
  std::map<std::string, fs::path> found;
  for (const fs::path& folder : folders) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
      if (is_module(entry.path()))
        found.try_emplace(entry.path().filename().string(), entry.path());
  }
  std::vector<fs::path> list;
  for (const auto& [name, path] : found)
    list.push_back(path);
  return list;
}

ProgramFiles files_in(const fs::path& folder) {
  return {folder / kProgramName, modules_in({folder})};
}

Status copy_to(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::copy_file(from, to, failed);
  if (!failed) return ok;
  return Error{Errc::io, fmt::format("{}: cannot be copied to {}: {}", from.string(), to.string(),
                                     failed.message())};
}

void remove_oldest(const fs::path& programs) {
  std::vector<std::pair<fs::file_time_type, fs::path>> kept;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(programs, ignored))
    if (entry.is_directory(ignored))
      kept.emplace_back(entry.last_write_time(ignored), entry.path());
  std::ranges::sort(kept, std::greater<>());
  for (std::size_t i = kMostPrograms; i < kept.size(); ++i)
    fs::remove_all(kept[i].second, ignored);
}

}  // namespace

Result<std::string> ProgramFiles::digest() const {
  Sha256 all;
  std::vector<fs::path> files{program};
  files.insert(files.end(), modules.begin(), modules.end());
  for (const fs::path& file : files) {
    SLUICE_TRY(const std::vector<std::uint8_t> bytes, read_binary_file(file));
    all.update(fmt::format("{} {} {}\n", file == program ? kProgramName : file.filename().string(),
                           bytes.size(), storage::crc32c(std::as_bytes(std::span(bytes)))));
  }
  return all.hex();
}

Result<ProgramFiles> own_program() {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  return ProgramFiles{places.program, modules_in(module_folders())};
}

Result<std::string> own_digest() {
  SLUICE_TRY(const ProgramFiles own, own_program());
  return own.digest();
}

Status keep_own_program(const std::string& digest, const fs::path& cache) {
  SLUICE_TRY(const ProgramFiles own, own_program());
  const fs::path programs = cache / "programs";
  const fs::path kept = programs / digest;
  SLUICE_CHECK(create_folders(programs));
  SLUICE_TRY(const FileLock lock,
             FileLock::take(programs / kLockInFolder, shown(programs), {.limit_s = kLockWaitS}));
  std::error_code ignored;
  if (fs::exists(kept)) {
    fs::last_write_time(kept, fs::file_time_type::clock::now(), ignored);
    return ok;
  }
  const FolderGuard making(programs / kMaking);
  fs::remove_all(making.path(), ignored);  // of a process that was killed
  SLUICE_CHECK(create_folders(making.path()));
  SLUICE_CHECK(copy_to(own.program, making.path() / kProgramName));
  for (const fs::path& module : own.modules)
    SLUICE_CHECK(copy_to(module, making.path() / module.filename()));
  std::error_code failed;
  fs::rename(making.path(), kept, failed);
  if (failed && !fs::exists(kept))
    return Error{Errc::io, fmt::format("{}: cannot be made: {}", kept.string(), failed.message())};
  remove_oldest(programs);
  return ok;
}

Result<RunnableProgram> find_program(const std::string& digest, const fs::path& cache) {
  SLUICE_TRY(const ProgramFiles own, own_program());
  SLUICE_TRY(const std::string mine, own.digest());
  if (mine == digest) return RunnableProgram{own.program, {}};
  const fs::path folder = cache / "programs" / digest;
  const ProgramFiles kept = files_in(folder);
  const auto found = fs::exists(kept.program) ? kept.digest() : Result<std::string>(std::string());
  if (!found || *found != digest)
    return Error{Errc::not_found, "the program that measured the baseline is not kept here"};
  return RunnableProgram{kept.program, {{"SLUICE_MODULE_DIR", folder.string()}}};
}

}  // namespace sluice::visit
