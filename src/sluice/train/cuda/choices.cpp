// sluice/train/cuda/choices.cpp - a small file per kind of device.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/choices.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace sluice::train::cuda {
namespace {

constexpr std::uint64_t kLongest = 1 << 20;  // bytes; a choice has about 150
constexpr int kKindWords = 15;  // of a line of cuda_module/product_kind.h; the algorithm follows
constexpr double kLockLimit_s = 5;

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

}  // namespace

KeptChoices KeptChoices::offer(const Table& table, Device* device, const DeviceFacts& facts,
                               const std::filesystem::path& folder) {
  KeptChoices kept;
  kept.file_ = folder / name_of(facts, table.library);
  if (const auto text = read_text_file(kept.file_, kLongest))
    table.offer_choices(device, text->c_str());
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
  const std::string both = there ? merged(*there, now) : now;
  if (write_file_atomic(file_, both, Flush::later)) known_ = std::move(now);
}

}  // namespace sluice::train::cuda
