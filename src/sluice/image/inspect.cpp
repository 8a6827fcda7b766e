// sluice/image/inspect.cpp - folders looked at: every file decoded, sizes and faults added up.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/dataset.h"
#include "sluice/image/jpeg/exif.h"
#include "sluice/image/npy.h"
#include "sluice/image/video.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

/// What a usable file adds to the sums.
struct Facts {
  std::string format;
  int width = 0;
  int height = 0;
  int frames = 0;  // clips only
  bool oriented = false;
  bool misnamed = false;
};

/// What one file contributes; filled by workers, added up in order.
struct Entry {
  std::vector<std::uint8_t> bytes;
  std::optional<Facts> facts;
  std::string reason;
};

Format format_of(const std::string& suffix) {
  return suffix == ".png" ? Format::png : suffix == ".webp" ? Format::webp : Format::jpeg;
}

/// Decodes files of one kind; one per thread.
class Looker {
 public:
  Looker(MediaKind kind, const DecodeOptions& options) : kind_(kind), options_(options) {}

  Result<Facts> look(const std::string& name, Bytes bytes) {
    switch (kind_) {
      case MediaKind::images:
        return look_at_image(name, bytes);
      case MediaKind::arrays:
        return look_at_array(bytes);
      case MediaKind::clips:
        return look_at_clip(bytes);
    }
    return Error{Errc::internal, "a kind of media that is not handled"};
  }

 private:
  Result<Facts> look_at_image(const std::string& name, Bytes bytes) {
    SLUICE_TRY(const ImageInfo info, decoder_.read_info(bytes, options_));
    SLUICE_CHECK(decoder_.decode(pixels_, bytes, options_));
    const bool swaps = options_.exif && orientation_swaps(info.orientation);
    Facts facts;
    facts.format = to_string(info.format);
    facts.width = swaps ? info.height : info.width;
    facts.height = swaps ? info.width : info.height;
    facts.oriented = info.orientation != 1;
    facts.misnamed = format_of(lower_suffix(name)) != info.format;
    return facts;
  }

  Result<Facts> look_at_array(Bytes bytes) {
    SLUICE_CHECK(decode_npy(pixels_, bytes));
    Facts facts;
    facts.format = fmt::format("npy {} x{}", to_string(pixels_.dtype()), pixels_.channels());
    facts.width = pixels_.width();
    facts.height = pixels_.height();
    return facts;
  }

  Result<Facts> look_at_clip(Bytes bytes) {
    VideoOptions options;
    options.allow_damaged = options_.allow_truncated;
    SLUICE_TRY(const VideoInfo info, probe_video(bytes, options));
    SLUICE_CHECK(decode_clip(clip_, bytes, 16, options));
    Facts facts;
    facts.format = info.codec;
    facts.width = info.width;
    facts.height = info.height;
    facts.frames =
        static_cast<int>(std::min<std::int64_t>(info.frames, std::numeric_limits<int>::max()));
    return facts;
  }

  MediaKind kind_;
  DecodeOptions options_;
  Decoder decoder_;
  Image pixels_;
  VideoClip clip_;
};

Range range_of(std::vector<int>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

class Sums {
 public:
  explicit Sums(MediaKind kind) { total_.kind = kind; }

  void add(const std::string& name, const Entry& entry) {
    hash_.add(name, entry.bytes);
    ++total_.count;
    total_.bytes += entry.bytes.size();
    if (!entry.facts) {
      total_.errors.push_back({name, entry.reason});
      return;
    }
    ++total_.usable;
    ++total_.formats[entry.facts->format];
    total_.oriented += entry.facts->oriented ? 1 : 0;
    total_.misnamed += entry.facts->misnamed ? 1 : 0;
    widths_.push_back(entry.facts->width);
    heights_.push_back(entry.facts->height);
    frames_.push_back(entry.facts->frames);
  }

  DatasetInfo finish() {
    total_.hash = hash_.hex();
    total_.width = range_of(widths_);
    total_.height = range_of(heights_);
    if (total_.kind == MediaKind::clips) total_.frames = range_of(frames_);
    return std::move(total_);
  }

 private:
  DatasetInfo total_;
  DatasetHash hash_;
  std::vector<int> widths_, heights_, frames_;
};

Result<DatasetInfo> inspect_files(const fs::path& folder, const std::vector<std::string>& names,
                                  MediaKind kind, const DecodeOptions& options,
                                  Progress& progress) {
  if (kind == MediaKind::clips) {
    // Without the module every file would be reported as a bad one.
    if (const auto versions = video_versions(); !versions) return versions.error();
  }
  ThreadPool pool(usable_cores());
  std::vector<Looker> lookers;
  for (unsigned i = 0; i < pool.size(); ++i)
    lookers.emplace_back(kind, options);
  constexpr std::size_t kWindow = 64;  // files in memory at once
  std::vector<Entry> window(kWindow);
  Sums sums(kind);
  Progress::Bar bar =
      progress.bar(fmt::format("look at {}", to_string(kind)), names.size(), "files");
  for (std::size_t first = 0; first < names.size(); first += kWindow) {
    const std::size_t count = std::min(kWindow, names.size() - first);
    pool.parallel_for(count, [&](std::size_t i, unsigned worker) {
      Entry& entry = window[i];
      entry = {};
      auto bytes = read_binary_file(folder / names[first + i]);
      if (!bytes) {
        entry.reason = bytes.error().message;
        return;
      }
      entry.bytes = std::move(*bytes);
      if (auto facts = lookers[worker].look(names[first + i], entry.bytes))
        entry.facts = std::move(*facts);
      else
        entry.reason = facts.error().message;
    });
    for (std::size_t i = 0; i < count; ++i)
      sums.add(names[first + i], window[i]);
    bar.set(first + count);
  }
  return sums.finish();
}

std::optional<MediaKind> kind_of(const fs::path& path) {
  if (has_image_suffix(path)) return MediaKind::images;
  if (has_clip_suffix(path)) return MediaKind::clips;
  if (lower_suffix(path) == ".npy") return MediaKind::arrays;
  return std::nullopt;
}

}  // namespace

const char* to_string(MediaKind kind) {
  switch (kind) {
    case MediaKind::images:
      return "images";
    case MediaKind::arrays:
      return "arrays";
    case MediaKind::clips:
      return "clips";
  }
  return "unknown";
}

Result<DatasetInfo> inspect_dataset(const fs::path& folder, const DecodeOptions& options,
                                    Progress& progress) {
  SLUICE_TRY(const std::vector<std::string> names, list_images(folder));
  return inspect_files(folder, names, MediaKind::images, options, progress);
}

Result<DatasetInfo> inspect_media(const fs::path& folder, const DecodeOptions& options,
                                  Progress& progress) {
  SLUICE_TRY(const std::vector<std::string> all,
             list_files(folder, [](const fs::path& path) { return kind_of(path).has_value(); }));
  if (all.empty())
    return Error{Errc::invalid_input,
                 fmt::format("{}: no images, arrays or clips; files named *.jpg, *.jpeg, *.png, "
                             "*.webp, *.npy, *.avi, *.mkv, *.mov, *.mp4 or *.webm are accepted",
                             printable(folder.string()))};
  std::map<MediaKind, std::vector<std::string>> kinds;
  for (const std::string& name : all)
    kinds[*kind_of(name)].push_back(name);
  const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  SLUICE_TRY(DatasetInfo info, inspect_files(folder, most->second, most->first, options, progress));
  info.others = all.size() - most->second.size();
  return info;
}

Result<ImageInfo> inspect_file(const fs::path& file, const DecodeOptions& options) {
  SLUICE_TRY(const auto bytes, read_binary_file(file));
  Decoder decoder;
  Image pixels;
  auto info = decoder.read_info(bytes, options);
  if (info) {
    if (Status status = decoder.decode(pixels, bytes, options); !status)
      info = std::move(status).error();
  }
  if (!info)
    return Error{info.error().code,
                 fmt::format("{}: {}", printable(file.string()), info.error().message)};
  return info;
}

}  // namespace sluice::image
