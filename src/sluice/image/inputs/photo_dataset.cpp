// sluice/image/inputs/photo_dataset.cpp - a folder of generated photographs or clips, made once,
// resumed, checked.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/photo_dataset.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/json.h"
#include "sluice/core/sha256.h"
#include "sluice/core/stop.h"
#include "sluice/core/temporary_files.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/dataset.h"
#include "sluice/image/inputs/clip_maker.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/npy.h"
#include "sluice/image/video.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "dataset.json";
constexpr int kGenerator = 1;  // raised when the same seed gives other bytes

Json parameters(const PhotoDatasetOptions& options) {
  Json json = {{"kind", to_string(options.kind)},
               {"generator", kGenerator},
               {"seed", options.seed},
               {"width", options.width},
               {"height", options.height}};
  if (options.classes > 0) json["classes"] = options.classes;
  return json;
}

/// Three eighths of the colour of class `label`, one of `classes` hues of full saturation.
void tint(Image& photo, int label, int classes) {
  const int hue = 1536 * label / classes;  // 256 steps from one corner of the circle to the next
  std::array<int, 3> colour{};
  for (int c = 0; c < 3; ++c) {
    const int away = std::abs((hue - 512 * c + 2304) % 1536 - 768);  // from the primary, 0 to 768
    colour[static_cast<std::size_t>(c)] = std::clamp(512 - away, 0, 255);
  }
  const auto pixels = photo.span<std::uint8_t>();
  for (int y = 0; y < pixels.height(); ++y)
    for (int x = 0; x < pixels.width(); ++x)
      for (int c = 0; c < 3; ++c) {
        std::uint8_t& value = pixels.at(x, y, c);
        value = static_cast<std::uint8_t>(
            (5 * value + 3 * colour[static_cast<std::size_t>(c)] + 4) / 8);
      }
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
  if (options.classes != 0 &&
      (options.kind != MadeKind::rgb || options.classes < 2 || options.classes > kMaxClasses))
    return Error{Errc::usage, fmt::format("--classes {}: 2 to {} are accepted, with --kind rgb",
                                          options.classes, kMaxClasses)};
  if (options.kind == MadeKind::video) {
    if (options.width % 2 != 0 || options.height % 2 != 0 || options.width > 4096 ||
        options.height > 4096)
      return Error{Errc::usage,
                   fmt::format("--width {} --height {}: even numbers of 16 to 4096 are accepted "
                               "for video",
                               options.width, options.height)};
    if (const auto versions = video_versions(); !versions) return versions.error();
  }
  return ok;
}

/// What the manifest in a folder speaks of.
struct Earlier {
  int count = 0;
  MadeKind kind = MadeKind::rgb;
  int classes = 0;
};

int whole_number(const Json& json, const char* key, int most) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, most));
}

Earlier earlier_of(const Json& manifest, MadeKind wanted) {
  Earlier earlier;
  earlier.kind = wanted;
  earlier.count = whole_number(manifest, "count", kMaxPhotos);
  const Json made_with = manifest.value("parameters", Json::object());
  earlier.classes = whole_number(made_with, "classes", kMaxClasses);
  const Json kind = made_with.value("kind", Json());
  for (const MadeKind known : {MadeKind::rgb, MadeKind::nine_channels, MadeKind::video})
    if (kind == to_string(known)) earlier.kind = known;
  return earlier;
}

/// What lies in the folder from before (nothing: there is no folder, or nothing in it), or why we
/// must not write there.
Result<Earlier> check_folder(const PhotoDatasetOptions& options) {
  const std::string shown = printable(options.folder.string());
  std::error_code code;
  const fs::file_status status = fs::status(options.folder, code);
  if (!fs::exists(status)) return Earlier{};
  if (!fs::is_directory(status))
    return Error{Errc::invalid_input, fmt::format("{}: exists and is not a folder", shown)};
  const fs::path manifest = options.folder / kManifest;
  if (!fs::exists(manifest, code)) {
    fs::directory_iterator it(options.folder, code);
    const bool empty = !code && std::all_of(begin(it), end(it), [](const auto& entry) {
      return entry.path().filename() == kLockInFolder;
    });
    if (empty || options.force) return Earlier{};
    return Error{
        Errc::invalid_input,
        fmt::format(
            "{}: holds files that 'data make' did not write; name an empty folder, or pass --force",
            shown)};
  }
  Earlier earlier;
  bool same = false;
  if (auto text = read_text_file(manifest, 1 << 20)) {
    if (auto json = parse_json(*text, kManifest); json && json->is_object()) {
      same = json->value("parameters", Json()) == parameters(options);
      earlier = earlier_of(*json, options.kind);
    }
  }
  if ((same && earlier.count <= options.count) || options.force) return earlier;
  return Error{
      Errc::invalid_input,
      fmt::format(
          "{}: made with other parameters or more files; name another folder, or pass --force",
          shown)};
}

Status write_manifest(const PhotoDatasetOptions& options, int count, const PhotoDataset* made) {
  Json json = {
      {"made_by", "sluice data make"}, {"parameters", parameters(options)}, {"count", count}};
  json["complete"] = made != nullptr;
  if (made != nullptr) {
    json["bytes"] = made->bytes;
    json["hash"] = made->hash;
    if (!made->frames_hash.empty()) json["frames_hash"] = made->frames_hash;
  }
  return write_file_atomic(options.folder / kManifest, json.dump(2) + "\n");
}

/// Makes files; one per thread.
class Maker {
 public:
  /// The bytes of file `index`; of a clip also the hash of its frames.
  Status make(std::vector<std::uint8_t>& bytes, std::string& frames,
              const PhotoDatasetOptions& options, int index) {
    const auto i = static_cast<std::uint64_t>(index);
    if (options.kind == MadeKind::video) return make_clip(bytes, frames, options, i);
    PhotoSpec spec = photo_spec(options.seed, i);
    if (options.width != 0) {
      spec.width = options.width;
      spec.height = options.height;
    }
    if (options.kind == MadeKind::rgb && options.classes == 0)
      return photos_.make_jpeg(bytes, options.seed, i, spec);
    SLUICE_CHECK(photos_.make(photo_, options.seed, i, spec));
    if (options.kind == MadeKind::rgb) {
      tint(photo_, index % options.classes, options.classes);
      return encode_jpeg(bytes, photo_.view<std::uint8_t>(), {.quality = spec.quality});
    }
    SLUICE_CHECK(stack());
    return encode_npy(bytes, stacked_.view<std::uint8_t>());
  }

 private:
  /// photo_ three times along the channels.
  Status stack() {
    SLUICE_CHECK(stacked_.resize_for(photo_.width(), photo_.height(), 9));
    const auto from = photo_.view<std::uint8_t>();
    const auto to = stacked_.span<std::uint8_t>();
    for (int y = 0; y < from.height(); ++y)
      for (int x = 0; x < from.width(); ++x)
        for (int c = 0; c < 9; c += 3)
          std::memcpy(&to.at(x, y, c), &from.at(x, y, 0), 3);
    return ok;
  }

  Status make_clip(std::vector<std::uint8_t>& bytes, std::string& frames,
                   const PhotoDatasetOptions& options, std::uint64_t index) {
    ClipSpec spec = clip_spec(options.seed, index);
    if (options.width != 0) {
      spec.width = options.width;
      spec.height = options.height;
    }
    SLUICE_CHECK(clips_.make(clip_, options.seed, index, spec));
    frames = sha256_hex(clip_.pixels());
    return encode_clip(bytes, clip_);
  }

  PhotoMaker photos_;
  ClipMaker clips_;
  Image photo_, stacked_;
  VideoClip clip_;
};

/// Writes the file unless it is there already. Not flushed to disk one by one (that takes longer
/// than making it): after a power cut the same command writes what was lost.
Status put(bool& written, const fs::path& path, const std::vector<std::uint8_t>& bytes) {
  std::error_code code;
  written = false;
  if (fs::file_size(path, code) == bytes.size() && !code) {
    if (const auto there = read_binary_file(path); there && *there == bytes) return ok;
  }
  written = true;
  return write_file_atomic(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                           Flush::later);
}

/// What one file left behind; hashed in order.
struct Slot {
  std::vector<std::uint8_t> bytes;
  std::string frames;
  Status outcome = ok;
};

/// Only with force: files of another set that the new one does not replace.
void remove_earlier(const PhotoDatasetOptions& options, const Earlier& earlier) {
  for (int i = 0; i < earlier.count; ++i) {
    const std::string name = made_name(earlier.kind, i, earlier.classes);
    if (i < options.count && name == made_name(options.kind, i, options.classes)) continue;
    std::error_code code;
    fs::remove(options.folder / name, code);
  }
}

Status create_class_folders(const PhotoDatasetOptions& options) {
  for (int label = 0; label < std::min(options.classes, options.count); ++label)
    SLUICE_CHECK(create_folders(
        options.folder / fs::path(made_name(options.kind, label, options.classes)).parent_path()));
  return ok;
}

/// Class by class, which is the order of their names and not that in which they were made.
Result<std::string> hash_by_class(const PhotoDatasetOptions& options) {
  DatasetHash hash;
  for (int label = 0; label < options.classes; ++label)
    for (int i = label; i < options.count; i += options.classes) {
      const std::string name = made_name(options.kind, i, options.classes);
      SLUICE_TRY(const auto bytes, read_binary_file(options.folder / name));
      hash.add(name, bytes);
    }
  return hash.hex();
}

}  // namespace

const char* to_string(MadeKind kind) {
  constexpr std::array kNames = {"rgb", "9ch", "video"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string made_name(MadeKind kind, int index, int classes) {
  constexpr std::array kEndings = {"jpg", "npy", "mp4"};
  return fmt::format("{}{}-{:06}.{}",
                     classes > 0 ? fmt::format("class-{:03}/", index % classes) : "",
                     to_string(kind), index, kEndings[static_cast<std::size_t>(kind)]);
}

Result<PhotoDataset> make_photo_dataset(const PhotoDatasetOptions& options, Progress& progress) {
  SLUICE_CHECK(check(options));
  remove_stale_temporaries(options.folder);
  SLUICE_CHECK(check_folder(options));
  SLUICE_CHECK(create_folders(options.folder));
  SLUICE_TRY(const FileLock lock,
             FileLock::take(options.folder / kLockInFolder, printable(options.folder.string())));
  SLUICE_TRY(const Earlier earlier, check_folder(options));
  SLUICE_CHECK(create_class_folders(options));
  SLUICE_CHECK(write_manifest(options, std::max(earlier.count, options.count), nullptr));

  ThreadPool pool(usable_cores());
  std::vector<Maker> makers(pool.size());
  constexpr int kWindow = 64;  // files in memory at once
  std::vector<Slot> window(kWindow);
  std::atomic<std::uint64_t> written = 0;
  PhotoDataset made;
  DatasetHash hash;
  Sha256 frames;
  const bool video = options.kind == MadeKind::video;
  Progress::Bar bar = progress.bar(video ? "make clips" : "make photographs",
                                   static_cast<std::uint64_t>(options.count), "files");
  for (int first = 0; first < options.count; first += kWindow) {
    const int count = std::min(kWindow, options.count - first);
    pool.parallel_for(static_cast<std::size_t>(count), [&](std::size_t i, unsigned worker) {
      Slot& slot = window[i];
      const int index = first + static_cast<int>(i);
      if (stop_requested()) {
        slot.outcome = Error{Errc::interrupted,
                             fmt::format("{}: stopped", printable(options.folder.string()))};
        return;
      }
      slot.outcome = makers[worker].make(slot.bytes, slot.frames, options, index);
      bool wrote = false;
      if (slot.outcome)
        slot.outcome = put(wrote, options.folder / made_name(options.kind, index, options.classes),
                           slot.bytes);
      if (wrote && slot.outcome) ++written;
      bar.add();
    });
    for (int i = 0; i < count; ++i) {
      const Slot& slot = window[static_cast<std::size_t>(i)];
      SLUICE_CHECK(slot.outcome);
      hash.add(made_name(options.kind, first + i), slot.bytes);
      frames.update(slot.frames);
      made.bytes += slot.bytes.size();
    }
  }
  remove_earlier(options, earlier);
  made.hash = hash.hex();
  if (options.classes > 0) {
    SLUICE_TRY(made.hash, hash_by_class(options));
  }
  if (video) made.frames_hash = frames.hex();
  made.count = static_cast<std::uint64_t>(options.count);
  made.written = written;
  SLUICE_CHECK(write_manifest(options, options.count, &made));
  return made;
}

}  // namespace sluice::image
