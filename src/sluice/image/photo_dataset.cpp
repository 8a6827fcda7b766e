// sluice/image/photo_dataset.cpp - a folder of generated photographs, made once, resumed, checked.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/photo_dataset.h"

#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/dataset.h"
#include "sluice/image/photo.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <vector>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "dataset.json";
constexpr int kGenerator = 1;  // raised when the same seed gives other bytes

Json parameters(const PhotoDatasetOptions& options) {
  return {{"kind", "rgb"},
          {"generator", kGenerator},
          {"seed", options.seed},
          {"width", options.width},
          {"height", options.height}};
}

Status check(const PhotoDatasetOptions& options) {
  if (options.folder.empty()) return Error{Errc::usage, "data make needs --out DIR"};
  if (options.count < 1 || options.count > kMaxPhotos)
    return Error{Errc::usage,
                 fmt::format("--count {}: 1 to {} is accepted", options.count, kMaxPhotos)};
  const bool both = options.width != 0 && options.height != 0;
  const bool none = options.width == 0 && options.height == 0;
  if (!both && !none) return Error{Errc::usage, "--width and --height go together"};
  if (both && (options.width < 16 || options.height < 16 || options.width > 16384 ||
               options.height > 16384))
    return Error{Errc::usage, fmt::format("--width {} --height {}: 16 to 16384 is accepted",
                                          options.width, options.height)};
  return ok;
}

/// How many photographs the manifest in `folder` speaks of (0: there is no folder, or nothing in
/// it), or why we must not write there.
Result<int> check_folder(const PhotoDatasetOptions& options) {
  const std::string shown = printable(options.folder.string());
  std::error_code code;
  const fs::file_status status = fs::status(options.folder, code);
  if (!fs::exists(status)) return 0;
  if (!fs::is_directory(status))
    return Error{Errc::invalid_input, fmt::format("{}: exists and is not a folder", shown)};
  const fs::path manifest = options.folder / kManifest;
  if (!fs::exists(manifest, code)) {
    if (fs::is_empty(options.folder, code) || options.force) return 0;
    return Error{
        Errc::invalid_input,
        fmt::format(
            "{}: holds files that 'data make' did not write; name an empty folder, or pass --force",
            shown)};
  }
  int had = 0;
  bool same = false;
  if (auto text = read_text_file(manifest, 1 << 20)) {
    if (auto json = parse_json(*text, kManifest); json && json->is_object()) {
      same = json->value("parameters", Json()) == parameters(options);
      if (const auto count = json->find("count");
          count != json->end() && count->is_number_integer())
        had = static_cast<int>(std::clamp<std::int64_t>(count->get<std::int64_t>(), 0, kMaxPhotos));
    }
  }
  if (same && had <= options.count) return had;
  if (options.force) return had;
  return Error{
      Errc::invalid_input,
      fmt::format(
          "{}: made with other parameters or more images; name another folder, or pass --force",
          shown)};
}

Status write_manifest(const PhotoDatasetOptions& options, int count, const PhotoDataset* made) {
  Json json = {
      {"made_by", "sluice data make"}, {"parameters", parameters(options)}, {"count", count}};
  json["complete"] = made != nullptr;
  if (made != nullptr) {
    json["bytes"] = made->bytes;
    json["hash"] = made->hash;
  }
  return write_file_atomic(options.folder / kManifest, json.dump(2) + "\n");
}

/// One photograph: generated, compared with what is there, written if it differs.
Status make_one(std::vector<std::uint8_t>& bytes, bool& written, PhotoMaker& maker,
                const PhotoDatasetOptions& options, int index) {
  const auto i = static_cast<std::uint64_t>(index);
  PhotoSpec spec = photo_spec(options.seed, i);
  if (options.width != 0) {
    spec.width = options.width;
    spec.height = options.height;
  }
  SLUICE_CHECK(maker.make_jpeg(bytes, options.seed, i, spec));
  const fs::path path = options.folder / photo_name(index);
  std::error_code code;
  written = false;
  if (fs::file_size(path, code) == bytes.size() && !code) {
    if (const auto there = read_binary_file(path); there && *there == bytes) return ok;
  }
  written = true;
  return write_file_atomic(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::string photo_name(int index) {
  return fmt::format("rgb-{:06}.jpg", index);
}

Result<PhotoDataset> make_photo_dataset(const PhotoDatasetOptions& options, Progress& progress) {
  SLUICE_CHECK(check(options));
  SLUICE_TRY(const int had, check_folder(options));
  SLUICE_CHECK(create_folders(options.folder));
  SLUICE_CHECK(write_manifest(options, std::max(had, options.count), nullptr));

  ThreadPool pool(usable_cores());
  std::vector<PhotoMaker> makers(pool.size());
  constexpr int kWindow = 64;  // files in memory at once, hashed in order
  std::vector<std::vector<std::uint8_t>> window(kWindow);
  std::vector<Status> outcomes(kWindow, ok);
  std::atomic<std::uint64_t> written = 0;
  PhotoDataset made;
  DatasetHash hash;
  Progress::Bar bar =
      progress.bar("make photographs", static_cast<std::uint64_t>(options.count), "files");
  for (int first = 0; first < options.count; first += kWindow) {
    const int count = std::min(kWindow, options.count - first);
    pool.parallel_for(static_cast<std::size_t>(count), [&](std::size_t i, unsigned worker) {
      bool wrote = false;
      outcomes[i] =
          make_one(window[i], wrote, makers[worker], options, first + static_cast<int>(i));
      if (wrote && outcomes[i]) ++written;
      bar.add();
    });
    for (int i = 0; i < count; ++i) {
      const auto slot = static_cast<std::size_t>(i);
      SLUICE_CHECK(outcomes[slot]);
      hash.add(photo_name(first + i), window[slot]);
      made.bytes += window[slot].size();
    }
  }
  for (int i = options.count; i < had;
       ++i) {  // only with force: a smaller set replaces a larger one
    std::error_code code;
    fs::remove(options.folder / photo_name(i), code);
  }
  made.hash = hash.hex();
  made.count = static_cast<std::uint64_t>(options.count);
  made.written = written;
  SLUICE_CHECK(write_manifest(options, options.count, &made));
  return made;
}

}  // namespace sluice::image
