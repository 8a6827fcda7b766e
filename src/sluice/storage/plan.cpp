// sluice/storage/plan.cpp - which files of a source are staged, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/plan.h"

#include "sluice/core/sha256.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::storage {
namespace {

constexpr std::size_t kMaxPart = 255, kMaxName = 1024;  // bytes
constexpr std::uint64_t kRatioFloor = std::uint64_t{1} << 30;

Error refused(std::string_view name, std::string_view why) {
  constexpr std::size_t kShown = 200;
  const std::string shown = printable(name.substr(0, kShown));
  return {Errc::invalid_input,
          fmt::format("entry '{}{}' {}", shown, name.size() > kShown ? "..." : "", why)};
}

bool is_hidden(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.front() == '.' || part == "__MACOSX") return true;
    at = end + 1;
  }
  return false;
}

std::string suffix_of(std::string_view name) {
  const std::string_view file = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return "";
  std::string suffix(file.substr(dot + 1));
  for (char& c : suffix)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return suffix;
}

/// How far below its start a path of parts gets at worst; negative: it leaves.
bool leaves(std::string_view path, int depth) {
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    if (depth < 0) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

bool name_less(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
  });
}

std::vector<std::string> suffixes_of(std::string_view kind) {
  if (kind == "image") return {"bmp", "jpeg", "jpg", "png", "tif", "tiff", "webp"};
  if (kind == "video") return {"avi", "mkv", "mov", "mp4", "webm"};
  if (kind == "9ch") return {"npy"};
  return {};
}

const StageFile* StagePlan::find(std::string_view name) const {
  const auto at = std::lower_bound(
      files.begin(), files.end(), name,
      [](const StageFile& file, std::string_view wanted) { return name_less(file.name, wanted); });
  return at != files.end() && at->name == name ? &*at : nullptr;
}

std::string listing_hash(const std::vector<StageFile>& files) {
  Sha256 sha;
  for (const StageFile& file : files)
    sha.update(fmt::format("{} {} {}\n", file.name.size(), file.name, file.size));
  return sha.hex();
}

Result<std::string> safe_name(std::string_view name) {
  if (name.empty()) return Error{Errc::invalid_input, "an entry has no name that can be read"};
  if (name.front() == '/') return refused(name, "has an absolute path");
  if (name.size() > kMaxName)
    return refused(name, fmt::format("has a name over {} bytes", kMaxName));
  std::string safe;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return refused(name, "leads out of the folder with '..'");
    if (part.size() > kMaxPart)
      return refused(name, fmt::format("has a part over {} bytes", kMaxPart));
    if (!safe.empty()) safe += '/';
    safe += part;
  }
  return safe;
}

Planner::Planner(StageFilter filter, const StageLimits& limits, std::uint64_t source_bytes)
    : filter_(std::move(filter)), limits_(limits), source_bytes_(source_bytes) {}

Status Planner::count(const ArchiveEntry& entry) {
  if (++entries_ > limits_.max_entries)
    return refused(entry.name,
                   fmt::format("is one more than the {} entries accepted", limits_.max_entries));
  if (entry.size > limits_.max_file_bytes)
    return refused(entry.name, fmt::format("has {} bytes; at most {} are accepted", entry.size,
                                           limits_.max_file_bytes));
  content_ += entry.size;  // 2e7 entries of 2^36 bytes do not overflow
  if (source_bytes_ > 0 && content_ > kRatioFloor && content_ / limits_.max_ratio > source_bytes_)
    return refused(entry.name,
                   fmt::format("brings the content to {} bytes, over {} times the size of the "
                               "archive",
                               content_, limits_.max_ratio));
  return ok;
}

Status Planner::add_link(const ArchiveEntry& entry, const std::string& name) {
  // A hard link is relative to the archive, a symbolic one to the folder it lies in.
  const auto depth = entry.type == EntryType::hard_link ? std::ptrdiff_t{0}
                                                        : std::count(name.begin(), name.end(), '/');
  if (entry.target.rfind('/', 0) == 0 || leaves(entry.target, static_cast<int>(depth)))
    return refused(entry.name, fmt::format("is a link that leads out of the folder, to '{}'",
                                           printable(entry.target.substr(0, 200))));
  ++plan_.skipped.links;
  return ok;
}

Status Planner::add(const ArchiveEntry& entry) {
  SLUICE_CHECK(count(entry));
  SLUICE_TRY(std::string name, safe_name(entry.name));
  switch (entry.type) {
    case EntryType::folder:
      return ok;  // made when a file needs it
    case EntryType::symbolic_link:
    case EntryType::hard_link:
      return add_link(entry, name);
    case EntryType::other:
      return refused(entry.name, "is a device, pipe or socket");
    case EntryType::file:
      break;
  }
  if (name.empty()) return refused(entry.name, "is a file without a name");
  if (is_hidden(name)) {
    ++plan_.skipped.hidden;
    return ok;
  }
  const auto& suffixes = filter_.suffixes;
  if (std::find(suffixes.begin(), suffixes.end(), suffix_of(name)) == suffixes.end()) {
    ++plan_.skipped.suffix;
    return ok;
  }
  plan_.files.push_back({std::move(name), entry.size});
  return ok;
}

Result<StagePlan> Planner::finish() {
  auto& files = plan_.files;
  std::sort(files.begin(), files.end(),
            [](const StageFile& a, const StageFile& b) { return name_less(a.name, b.name); });
  const auto twice =
      std::adjacent_find(files.begin(), files.end(),
                         [](const StageFile& a, const StageFile& b) { return a.name == b.name; });
  if (twice != files.end()) return refused(twice->name, "is there twice");
  if (filter_.limit > 0 && files.size() > filter_.limit) {
    plan_.skipped.over_limit = files.size() - filter_.limit;
    files.resize(filter_.limit);
  }
  for (const StageFile& file : files) {
    plan_.bytes += file.size;
    if (plan_.bytes > limits_.max_bytes)
      return refused(file.name, fmt::format("brings what is staged to {} bytes; at most {} are "
                                            "accepted",
                                            plan_.bytes, limits_.max_bytes));
    for (std::size_t slash = file.name.find('/'); slash != std::string::npos;
         slash = file.name.find('/', slash + 1))
      if (plan_.find(std::string_view(file.name).substr(0, slash)) != nullptr)
        return refused(file.name, "needs a folder where the archive has a file");
  }
  return std::move(plan_);
}

}  // namespace sluice::storage
