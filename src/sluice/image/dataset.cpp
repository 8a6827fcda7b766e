// sluice/image/dataset.cpp - folders of images and clips: listed, hashed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/dataset.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kSuffixes = {".jpg", ".jpeg", ".png", ".webp"};
constexpr std::array<std::string_view, 5> kClipSuffixes = {".avi", ".mkv", ".mov", ".mp4", ".webm"};

bool hidden(const fs::path& path) {
  return path.filename().string().rfind('.', 0) == 0;
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

bool has_clip_suffix(const fs::path& path) {
  return std::find(kClipSuffixes.begin(), kClipSuffixes.end(), lower_suffix(path)) !=
         kClipSuffixes.end();
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
    return Error{
        Errc::invalid_input,
        fmt::format("{}: no images; files named *.jpg, *.jpeg, *.png or *.webp are accepted",
                    printable(folder.string()))};
  return names;
}

Result<std::vector<std::string>> list_clips(const fs::path& folder) {
  SLUICE_TRY(auto names, list_files(folder, has_clip_suffix));
  if (names.empty())
    return Error{
        Errc::invalid_input,
        fmt::format("{}: no clips; files named *.avi, *.mkv, *.mov, *.mp4 or *.webm are accepted",
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

}  // namespace sluice::image
