// sluice/image/dataset.cpp - folders of images: listed, hashed, looked at.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/dataset.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/exif.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <system_error>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kSuffixes = {".jpg", ".jpeg", ".png"};

bool hidden(const fs::path& path) {
  return path.filename().string().rfind('.', 0) == 0;
}

/// What one file contributes; filled by workers, added up in order.
struct Entry {
  std::vector<std::uint8_t> bytes;
  std::optional<ImageInfo> info;
  std::string reason;
};

void inspect(Entry& entry, const fs::path& path, Decoder& decoder, Image& pixels,
             const DecodeOptions& options) {
  auto bytes = read_binary_file(path);
  if (!bytes) {
    entry.reason = bytes.error().message;
    return;
  }
  entry.bytes = std::move(*bytes);
  auto info = decoder.read_info(entry.bytes, options);
  if (!info) {
    entry.reason = info.error().message;
    return;
  }
  if (const Status status = decoder.decode(pixels, entry.bytes, options); !status) {
    entry.reason = status.error().message;
    return;
  }
  entry.info = std::move(*info);
}

Range range_of(std::vector<int>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

/// Adds `entry` to the sums; sizes go to `widths` and `heights`.
void add(DatasetInfo& total, const std::string& name, const Entry& entry, bool exif,
         std::vector<int>& widths, std::vector<int>& heights) {
  ++total.count;
  total.bytes += entry.bytes.size();
  if (!entry.info) {
    total.errors.push_back({name, entry.reason});
    return;
  }
  const ImageInfo& info = *entry.info;
  ++total.usable;
  ++total.formats[to_string(info.format)];
  total.oriented += info.orientation != 1 ? 1 : 0;
  total.misnamed += (lower_suffix(name) == ".png") != (info.format == Format::png) ? 1 : 0;
  const bool swaps = exif && orientation_swaps(info.orientation);
  widths.push_back(swaps ? info.height : info.width);
  heights.push_back(swaps ? info.width : info.height);
}

}  // namespace

std::string lower_suffix(const fs::path& path) {
  std::string suffix = path.extension().string();
  for (char& c : suffix)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return suffix;
}

bool has_image_suffix(const fs::path& path) {
  return std::find(kSuffixes.begin(), kSuffixes.end(), lower_suffix(path)) != kSuffixes.end();
}

Result<std::vector<std::string>> list_files(const fs::path& folder,
                                            const std::function<bool(const fs::path&)>& wanted) {
  std::error_code code;
  const std::string shown = printable(folder.string());
  const fs::file_status status = fs::status(folder, code);
  if (!fs::exists(status)) return Error{Errc::not_found, fmt::format("{}: no such folder", shown)};
  if (!fs::is_directory(status))
    return Error{Errc::invalid_input, fmt::format("{}: not a folder", shown)};
  std::vector<std::string> names;
  fs::recursive_directory_iterator walk(folder, code);
  for (const fs::recursive_directory_iterator end; !code && walk != end; walk.increment(code)) {
    std::error_code ignored;
    if (hidden(walk->path())) {
      walk.disable_recursion_pending();
      continue;
    }
    if (walk->is_regular_file(ignored) && wanted(walk->path()))
      names.push_back(walk->path().lexically_relative(folder).generic_string());
  }
  if (code) return Error{Errc::io, fmt::format("{}: cannot be listed: {}", shown, code.message())};
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
    });
  });
  return names;
}

Result<std::vector<std::string>> list_images(const fs::path& folder) {
  SLUICE_TRY(auto names, list_files(folder, has_image_suffix));
  if (names.empty())
    return Error{Errc::invalid_input,
                 fmt::format("{}: no images; files named *.jpg, *.jpeg or *.png are accepted",
                             printable(folder.string()))};
  return names;
}

void DatasetHash::add(std::string_view name, Bytes bytes) {
  // Lengths in front, so that no two lists of files run into the same stream.
  for (const std::uint64_t length : {std::uint64_t{name.size()}, std::uint64_t{bytes.size()}}) {
    std::array<std::uint8_t, 8> little{};
    for (std::size_t i = 0; i < little.size(); ++i)
      little[i] = static_cast<std::uint8_t>(length >> (8 * i));
    sha_.update(std::span<const std::uint8_t>(little));
  }
  sha_.update(name);
  sha_.update(bytes);
}

Result<DatasetInfo> inspect_dataset(const fs::path& folder, const DecodeOptions& options,
                                    Progress& progress) {
  SLUICE_TRY(const std::vector<std::string> names, list_images(folder));
  ThreadPool pool(usable_cores());
  std::vector<Decoder> decoders(pool.size());
  std::vector<Image> pixels(pool.size());
  constexpr std::size_t kWindow = 64;  // files in memory at once
  std::vector<Entry> window(kWindow);
  DatasetInfo total;
  DatasetHash hash;
  std::vector<int> widths, heights;
  Progress::Bar bar = progress.bar("look at images", names.size(), "files");
  for (std::size_t first = 0; first < names.size(); first += kWindow) {
    const std::size_t count = std::min(kWindow, names.size() - first);
    pool.parallel_for(count, [&](std::size_t i, unsigned worker) {
      window[i] = {};
      inspect(window[i], folder / names[first + i], decoders[worker], pixels[worker], options);
    });
    for (std::size_t i = 0; i < count; ++i) {
      hash.add(names[first + i], window[i].bytes);
      add(total, names[first + i], window[i], options.exif, widths, heights);
    }
    bar.set(first + count);
  }
  total.hash = hash.hex();
  total.width = range_of(widths);
  total.height = range_of(heights);
  return total;
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
