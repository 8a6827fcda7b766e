// sluice/train/cuda/choices.cpp - a small file per kind of device.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/choices.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

namespace sluice::train::cuda {
namespace {

constexpr std::uint64_t kLongest = 1 << 20;  // bytes; a choice has about 150
constexpr int kKindWords = 15;  // of a line of cuda_module/product_kind.h; the algorithm follows
constexpr double kLockLimit_s = 5;
constexpr std::size_t kMostShown = 200;               // bytes of a first line that is refused
constexpr std::string_view kMark = "# products of ";  // begins it; then what versions_of() says

std::string versions_of(const DeviceFacts& facts, const char* library) {
  return fmt::format("{}, sm_{}{}, driver {}, {}", facts.name, facts.major, facts.minor,
                     facts.driver, library);
}

/// "NVIDIA H200, sm_90, driver 13000, CUDA 13.0, cuBLASLt 13.1.0" as the name of a file.
std::string name_of(const DeviceFacts& facts, const char* library) {
  std::string name = fmt::format("products {} sm_{}{} driver {} {}", facts.name, facts.major,
                                 facts.minor, facts.driver, library);
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '_';
    if (!plain) c = '-';
  }
  return name + ".txt";
}

std::string text_of(const Table& table, Device* device) {
  std::string text(table.choices(device, nullptr, 0), '\0');
  if (text.empty()) return text;
  table.choices(device, text.data(), text.size());
  text.pop_back();  // the 0
  return text;
}

/// The part of a line that says of what product it is.
std::string_view kind_of(std::string_view line) {
  std::size_t end = 0;
  for (int word = 0; word < kKindWords && end != std::string_view::npos; ++word)
    end = line.find(' ', end == 0 ? 0 : end + 1);
  return line.substr(0, end);
}

/// The lines of `first`, then those of `second` for products that it does not have.
std::string merged(std::string_view first, std::string_view second) {
  std::string text;
  std::set<std::string_view> kinds;
  for (std::string_view rest : {first, second}) {
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (!line.empty() && kinds.insert(kind_of(line)).second) text.append(line) += '\n';
    }
  }
  return text;
}

struct Parts {
  std::optional<std::string_view> versions{};  // none: an earlier program wrote the file
  std::string_view lines;
};
Parts parts_of(std::string_view text) {
  if (!text.starts_with(kMark)) return {.lines = text};
  text.remove_prefix(kMark.size());
  const std::size_t end = std::min(text.find('\n'), text.size());
  return {text.substr(0, end), text.substr(std::min(end + 1, text.size()))};
}

bool of_other_versions(const Parts& parts, std::string_view versions) {
  return parts.versions && *parts.versions != versions;
}

/// The lines of the file, none where it cannot be read.
Result<std::string> read_lines(const std::filesystem::path& file, std::string_view versions) {
  const auto text = read_text_file(file, kLongest);
  if (!text) return std::string();
  const Parts parts = parts_of(*text);
  if (of_other_versions(parts, versions))
    return Error{Errc::usage,
                 fmt::format("{}: is for '{}'; '{}' is accepted, and without the file the products "
                             "are searched again",
                             shown(file), printable(parts.versions->substr(0, kMostShown)),
                             printable(versions))};
  return std::string(parts.lines);
}

}  // namespace

Status KeptChoices::check(const Table& table, const DeviceFacts& facts,
                          const std::filesystem::path& folder) {
  SLUICE_CHECK(
      read_lines(folder / name_of(facts, table.library), versions_of(facts, table.library)));
  return ok;
}

Result<KeptChoices> KeptChoices::offer(const Table& table, Device* device, const DeviceFacts& facts,
                                       const std::filesystem::path& folder) {
  KeptChoices kept;
  kept.file_ = folder / name_of(facts, table.library);
  kept.versions_ = versions_of(facts, table.library);
  SLUICE_TRY(const std::string lines, read_lines(kept.file_, kept.versions_));
  if (!lines.empty()) table.offer_choices(device, lines.c_str());
  kept.known_ = text_of(table, device);
  return kept;
}

void KeptChoices::keep(const Table& table, Device* device) {
  if (file_.empty()) return;
  std::string now = text_of(table, device);
  if (now == known_) return;
  if (!create_folders(file_.parent_path())) return;
  const auto lock = FileLock::take(lock_beside(file_), shown(file_), {.limit_s = kLockLimit_s});
  if (!lock) return;
  const auto there = read_text_file(file_, kLongest);
  const Parts parts = there ? parts_of(*there) : Parts();
  if (of_other_versions(parts, versions_)) return;  // put there since; the next process refuses it
  const std::string all = fmt::format("{}{}\n{}", kMark, versions_, merged(parts.lines, now));
  if (write_file_atomic(file_, all, Flush::later)) known_ = std::move(now);
}

}  // namespace sluice::train::cuda
