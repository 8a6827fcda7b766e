// sluice/publish/publish.cpp - validates, scrubs and writes a snapshot.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/publish.h"

#include "sluice/analysis/validate.h"
#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"
#include "sluice/publish/history.h"
#include "sluice/publish/scrub.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

namespace sluice::publish {
namespace fs = std::filesystem;
namespace {

/// Session ids end in the number of the process that made them; a hash keeps them apart.
std::string public_session(const std::string& id) {
  const auto dash = id.rfind('-');
  const std::string head = dash == std::string::npos ? std::string() : id.substr(0, dash + 1);
  return head + sha256_hex(id).substr(0, 8);
}

void hide_process(measure::Row& row, const std::string& session, const std::string& hidden) {
  for (auto& run : row.runs) {
    run.pid = 0;
    // A resumed file holds runs of earlier sessions, whose ids end in a process, too.
    const auto slash = run.run_id.find('/');
    const std::string own = run.run_id.substr(0, slash);
    const std::string rest = slash == std::string::npos ? "" : run.run_id.substr(slash);
    run.run_id = (own == session ? hidden : public_session(own)) + rest;
  }
}

/// A user may be called like a library or a transform; the rows stay what they are.
void keep_words_of_rows(Secrets& secrets, const results::ResultFile& file) {
  std::string words;
  for (const auto* rows : {&file.rows, &file.canary}) {
    for (const auto& row : *rows)
      words += "/" + row.library + "/" + row.case_name + "/" + row.unit;
  }
  const auto in_rows = [&](const std::string& name) {
    return words.find(name) != std::string::npos;
  };
  secrets.names.erase(std::remove_if(secrets.names.begin(), secrets.names.end(), in_rows),
                      secrets.names.end());
}

Json parameters_of(const results::ResultFile& file) {
  Json out = Json::object();
  for (const char* section : {"selection", "data", "execution"}) {
    if (!file.run_config.is_object() || !file.run_config.contains(section)) continue;
    const Json& part = file.run_config[section];
    if (!part.is_object()) continue;
    for (const auto& [key, value] : part.items()) {
      if (!value.is_null() && !value.is_structured()) out[key] = value;
    }
  }
  return out;
}

Json system_of(const results::ResultFile& file) {
  Json out = Json::object();
  const auto copy = [&](const char* section, const char* key, const char* name) {
    if (!file.environment.is_object() || !file.environment.contains(section)) return;
    const Json& part = file.environment[section];
    if (part.is_object() && part.contains(key) && !part[key].is_null()) out[name] = part[key];
  };
  out["machine_profile"] = file.machine_profile;
  copy("cpu", "model_name", "cpu");
  copy("cpu", "architecture", "architecture");
  copy("cores", "usable", "usable_cores");
  copy("memory", "total_bytes", "memory_total_bytes");
  copy("host", "kernel", "kernel");
  copy("host", "distribution", "distribution");
  return out;
}

struct Snapshot {
  std::vector<std::pair<std::string, results::ResultFile>> files;  // name in the snapshot
};

/// What a program of no commit measured, nobody can measure again; nor what one of a commit did
/// that is not in the history of `tree`, where that is Sluice's.
Status check_commit(const results::ResultFile& file, const fs::path& path, const fs::path& tree) {
  const std::string& git = file.tool.git;
  if (git != "unknown" && !git.ends_with("-dirty")) {
    if (tree.empty()) return ok;
    const Status in_history = check_in_history(git, tree);
    if (in_history) return ok;
    return Error{in_history.error().code,
                 fmt::format("{}: its program was built at {}, {}, so not published; build and "
                             "measure at a commit of the branch, or give --allow-dirty",
                             shown(path), printable(git), in_history.error().message)};
  }
  return Error{
      Errc::usage,
      fmt::format("{}: its program was built {}, so not published; commit, build and measure "
                  "again, or give --allow-dirty",
                  shown(path),
                  git == "unknown" ? "outside a repository"
                                   : "from changed sources (" + printable(git) + ")")};
}

Result<Snapshot> read_snapshot(const PublishOptions& options) {
  const fs::path& from = options.from;
  const fs::path tree = sluice_tree_of(options.to);
  SLUICE_TRY(const auto paths, results::find(from));
  const analysis::Validation validation = analysis::validate_paths({from});
  for (const auto& file : validation.files) {
    if (file.issues.empty()) continue;
    const std::size_t more = file.issues.size() - 1;
    return Error{
        Errc::invalid_input,
        fmt::format("{}: not sound, so not published: {}{}", printable(file.path),
                    printable(file.issues.front()),
                    more == 0 ? "" : fmt::format(" and {} more; see sluice validate", more))};
  }
  std::error_code code;
  const bool folder = fs::is_directory(from, code);
  const fs::path base = fs::is_directory(from / "results", code) ? from / "results" : from;
  Snapshot snapshot;
  for (const auto& path : paths) {
    SLUICE_TRY(const auto file, results::read(path));
    if (!options.allow_dirty) SLUICE_CHECK(check_commit(file, path, tree));
    SLUICE_TRY(auto clean, without_private(file));
    const fs::path name = folder ? path.lexically_relative(base) : path.filename();
    snapshot.files.emplace_back(name.generic_string(), std::move(clean));
  }
  return snapshot;
}

Json manifest_of(const Snapshot& snapshot, const PublishOptions& options) {
  Json entries = Json::array();
  std::set<std::string> libraries;
  std::map<std::string, std::set<std::string>> versions;
  std::set<std::string> commits;
  std::vector<std::string> names;
  for (const auto& [name, file] : snapshot.files) {
    std::map<std::string, std::set<std::string>> own;
    for (const auto& row : file.rows) {
      own[row.library].insert(row.library_version);
      versions[row.library].insert(row.library_version);
      libraries.insert(row.library);
    }
    std::vector<std::string> own_names;
    for (const auto& [library, unused] : own)
      own_names.push_back(library);
    commits.insert(file.tool.git);
    names.push_back(name);
    entries.push_back({{"file", name},
                       {"sha256", sha256_hex(results::to_text(results::to_json(file)))},
                       {"library", join(own_names)},
                       {"num_results", file.rows.size()},
                       {"benchmark_params", parameters_of(file)},
                       {"system_info", system_of(file)},
                       {"library_versions", own}});
  }
  Json out = {{"schema_version", kManifestVersion},
              {"published_at_utc", options.utc.empty() ? utc_now() : options.utc},
              {"purpose", options.purpose},
              {"machine", options.machine},
              {"source_dir", fs::absolute(options.from).lexically_normal().filename().string()},
              {"destination_dir", fs::absolute(options.to).lexically_normal().filename().string()},
              {"files", names},
              {"libraries", libraries},
              {"library_versions", versions},
              {"git", commits}};
  if (!options.notes.empty()) out["notes"] = options.notes;
  out["entries"] = std::move(entries);
  return scrub(out, Secrets::of_process());
}

bool is_snapshot(const fs::path& folder) {
  const auto text = read_text_file(folder / kManifestName);
  if (!text) return false;
  const auto json = parse_json(*text, kManifestName);
  return json && json->is_object() && json->contains("published_at_utc") &&
         json->contains("entries");
}

bool inside(const fs::path& inner, const fs::path& outer) {
  const auto relative = fs::weakly_canonical(inner).lexically_relative(fs::weakly_canonical(outer));
  return !relative.empty() && *relative.begin() != "..";
}

/// Whether the destination may become the snapshot; true: it holds one that is to be replaced.
Result<bool> check_destination(const PublishOptions& options) {
  std::error_code code;
  if (inside(options.to, options.from) || inside(options.from, options.to)) {
    return Error{
        Errc::usage,
        fmt::format("{} and {}: one lies inside the other; publish to a folder beside the results",
                    shown(options.from), shown(options.to))};
  }
  if (!fs::exists(fs::symlink_status(options.to, code))) return false;
  if (!fs::is_directory(options.to, code))
    return Error{Errc::usage, fmt::format("{}: is not a folder", shown(options.to))};
  if (fs::is_empty(options.to, code)) return true;
  if (!options.force) {
    return Error{Errc::usage,
                 fmt::format("{}: is not empty; name a new folder, or replace the snapshot in it "
                             "with --force",
                             shown(options.to))};
  }
  if (!is_snapshot(options.to)) {
    return Error{Errc::usage, fmt::format("{}: holds no {} of a snapshot; --force replaces nothing "
                                          "else",
                                          shown(options.to), kManifestName)};
  }
  return true;
}

Error io_error(const fs::path& path, const std::error_code& code) {
  return Error{Errc::io, fmt::format("{}: {}", shown(path), code.message())};
}

fs::path hidden_beside(const fs::path& folder, const char* end) {
  return folder.parent_path() / fmt::format(".{}.{}", folder.filename().string(), end);
}

/// What a killed publish left: the snapshot that it was about to replace goes back into its place.
void tidy_up(const fs::path& target) {
  std::error_code code;
  const fs::path old = hidden_beside(target, "old");
  if (fs::exists(old, code) && !fs::exists(target, code)) fs::rename(old, target, code);
  fs::remove_all(old, code);
  fs::remove_all(hidden_beside(target, "new"), code);
}

Status move_into_place(const fs::path& made, const fs::path& to, bool replace) {
  std::error_code code;
  const FolderGuard old(hidden_beside(to, "old"));
  if (replace) {
    fs::rename(to, old.path(), code);
    if (code) return io_error(to, code);
  }
  fs::rename(made, to, code);
  if (!code) return ok;
  std::error_code ignored;
  if (replace) fs::rename(old.path(), to, ignored);
  return io_error(to, code);
}

}  // namespace

Result<results::ResultFile> without_private(const results::ResultFile& file) {
  results::ResultFile clean = file;
  clean.session_id = public_session(file.session_id);
  for (auto* rows : {&clean.rows, &clean.canary}) {
    for (auto& row : *rows)
      hide_process(row, file.session_id, clean.session_id);
  }
  if (clean.run_config.is_object()) clean.run_config.erase("cloud");
  if (clean.environment.is_object()) {
    clean.environment.erase("variables");
    clean.environment.erase("cluster");  // names of nodes and accounts
  }
  const Json whole = results::to_json(clean);
  Secrets secrets = Secrets::of_process();
  secrets.learn(whole);
  keep_words_of_rows(secrets, clean);
  const Json scrubbed = scrub(whole, secrets);
  if (scrub(scrubbed, secrets) != scrubbed)
    return Error{Errc::internal, "a scrubbed result file could be scrubbed further"};
  return results::from_json(scrubbed, "published file");
}

Result<Published> publish(const PublishOptions& options) {
  if (options.purpose.empty() || options.machine.empty())
    return Error{Errc::usage, "publish: purpose and machine must not be empty"};
  SLUICE_TRY(bool replace, check_destination(options));
  SLUICE_TRY(const Snapshot snapshot, read_snapshot(options));
  const fs::path to = fs::absolute(options.to).lexically_normal();
  const fs::path target = to.has_filename() ? to : to.parent_path();  // "DIR/"
  SLUICE_CHECK(create_folders(target.parent_path()));
  SLUICE_TRY(const FileLock lock, FileLock::take(lock_beside(target), shown(options.to)));
  tidy_up(target);
  SLUICE_TRY(replace, check_destination(options));
  const FolderGuard made(hidden_beside(target, "new"));
  SLUICE_CHECK(create_folders(made.path()));
  Published out;
  for (const auto& [name, file] : snapshot.files) {
    SLUICE_CHECK(results::write(made.path() / name, file));
    out.files.push_back(name);
  }
  out.manifest = manifest_of(snapshot, options);
  SLUICE_CHECK(write_file_atomic(made.path() / kManifestName, results::to_text(out.manifest)));
  SLUICE_CHECK(move_into_place(made.path(), target, replace));
  return out;
}

}  // namespace sluice::publish
