// sluice/visit/loader/bundle_cache.cpp - a folder per input, and beside it what it was packed from.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/bundle_cache.h"

#include "sluice/core/clock.h"
#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"
#include "sluice/core/utc.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/storage/format/bundle_writer.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

Result<fs::path> bundle_cache() {
  SLUICE_TRY(const fs::path cache, user_cache_folder());
  return cache / "bundles";
}

bool is_sample(const storage::Object& object) {
  return loader::is_image_key(object.key) || loader::is_array_key(object.key);
}

/// What changes when its bytes do: of a file the time at which it was last written. Empty: nothing.
std::string version_of(const fs::path& files, const storage::Object& object) {
  if (!object.version.empty() || files.empty()) return object.version;
  std::error_code code;
  const auto time = fs::last_write_time(files / object.key, code);
  return code ? "" : std::to_string(time.time_since_epoch().count());
}

/// Of its bundles in the cache.
struct BundleName {
  std::string name;
  std::string unversioned;  // the key of an object that has no version; empty: each has one
};

Result<BundleName> name_of(const BundleInput& input) {
  std::vector<std::string> lines;
  BundleName made;
  SLUICE_CHECK(input.store.list("", [&](std::span<const storage::Object> objects) {
    for (const storage::Object& object : objects) {
      if (!is_sample(object)) continue;
      const std::string version = version_of(input.files, object);
      if (version.empty()) made.unversioned = object.key;
      lines.push_back(fmt::format("{} {} {} {}{}\n", object.key.size(), object.size, version.size(),
                                  object.key, version));
    }
    return Status(ok);
  }));
  std::sort(lines.begin(), lines.end());
  Sha256 sha;
  sha.update(fmt::format("{} {}\n", input.id.size(), input.id));
  for (const std::string& line : lines)
    sha.update(line);
  made.name = fmt::format("{}-{:g}gb", sha.hex().substr(0, 16), input.bundle_size_gb);
  return made;
}

fs::path note_of(const fs::path& folder) {
  fs::path path = folder;
  path += ".json";
  return path;
}

Json read_note(const fs::path& folder) {
  const auto text = read_text_file(note_of(folder));
  const auto json = text ? parse_json(*text, "note") : Result<Json>(text.error());
  return json && json->is_object() ? *json : Json::object();
}

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code code;
  for (fs::recursive_directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code))
    if (at->is_regular_file(code)) bytes += at->file_size(code);
  return bytes;
}

std::uint64_t count_at(const Json& json, const char* key) {
  const Json& value = at(json, key);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

}  // namespace

Result<KeptBundles> keep_bundles(const BundleInput& input, const fs::path& scratch,
                                 Progress& progress, const std::function<bool()>& stop) {
  SLUICE_TRY(const BundleName made, name_of(input));
  const bool stays = made.unversioned.empty();
  KeptBundles kept{scratch, Json::object()};
  if (stays) {
    SLUICE_TRY(const fs::path cache, bundle_cache());
    kept.folder = cache / made.name;
  }
  std::error_code code;
  if (stays && fs::is_directory(kept.folder, code)) {
    kept.report = read_note(kept.folder);
    kept.report["kept"] = true;
    return kept;
  }
  SLUICE_CHECK(create_folders(kept.folder.parent_path()));
  storage::BundleOptions options;
  options.out = kept.folder;
  options.bundle_bytes =
      static_cast<std::uint64_t>(input.bundle_size_gb * static_cast<double>(1ULL << 30U));
  options.wanted = is_sample;
  options.stop = stop;
  SystemClock clock;
  const std::int64_t start_ns = clock.now_ns();
  SLUICE_TRY(const auto report, storage::write_bundles(input.store, options, progress));
  kept.report = report.json();
  kept.report.erase("bundles");
  kept.report["bundle_size_gb"] = input.bundle_size_gb;
  kept.report["pack_seconds"] = static_cast<double>(clock.now_ns() - start_ns) * 1e-9;
  if (stays) {
    kept.report["name"] = made.name;
    Json note = kept.report;
    note["input"] = input.store.name();
    note["packed_at"] = utc_now();
    SLUICE_CHECK(write_file_atomic(note_of(kept.folder), dump_json(note) + "\n"));
  } else {
    kept.report["not_kept"] =
        fmt::format("{} has no version, so a change would go unnoticed", made.unversioned);
  }
  kept.report["kept"] = false;
  return kept;
}

Result<KeptBundles> keep_bundles(const LoaderRequest& request, const fs::path& scratch,
                                 Progress& progress, const std::function<bool()>& stop) {
  const storage::StoreOptions options = storage::store_options(request.input, request);
  SLUICE_TRY(const auto store, storage::open_store(options));
  SLUICE_TRY(std::string id, storage::store_id(*store, options));
  return keep_bundles({.store = *store,
                       .id = std::move(id),
                       .files = request.remote ? fs::path() : fs::path(request.input),
                       .bundle_size_gb = request.bundle_size_gb},
                      scratch, progress, stop);
}

Result<std::vector<BundleEntry>> bundle_entries() {
  SLUICE_TRY(const fs::path cache, bundle_cache());
  std::vector<BundleEntry> entries;
  std::error_code code;
  for (fs::directory_iterator at(cache, code), end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (!at->is_directory(code) || name.starts_with('.')) continue;
    const Json note = read_note(at->path());
    entries.push_back({name, string_at(note, "input"), string_at(note, "packed_at"),
                       count_at(note, "total_arrays"), folder_bytes(at->path())});
  }
  std::sort(entries.begin(), entries.end(),
            [](const BundleEntry& a, const BundleEntry& b) { return a.name < b.name; });
  return entries;
}

Status remove_bundles(const std::string& name) {
  SLUICE_TRY(const auto entries, bundle_entries());
  const bool known = std::any_of(entries.begin(), entries.end(),
                                 [&](const BundleEntry& one) { return one.name == name; });
  if (!known)
    return Error{
        Errc::not_found,
        fmt::format("--remove {}: no such bundles are kept; --kept lists them", printable(name))};
  SLUICE_TRY(const fs::path cache, bundle_cache());
  std::error_code code;
  fs::remove_all(cache / name, code);
  if (code)
    return Error{Errc::io,
                 fmt::format("{}: {}", printable((cache / name).string()), code.message())};
  fs::remove(note_of(cache / name), code);
  return ok;
}

}  // namespace sluice::visit
