// sluice/env/system_root.cpp - reads kernel files whose size is not known beforehand, and parses
// their idioms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/system_root.h"

#include "sluice/core/text.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace sluice::env {
namespace fs = std::filesystem;

namespace {

constexpr int kMaxId = 65536;

std::string why(std::string_view path, int error) {
  if (error == ENOENT || error == ENOTDIR) return std::string(path) + " is absent";
  return std::string(path) + ": " + std::generic_category().message(error);
}

}  // namespace

fs::path SystemRoot::resolve(std::string_view path) const {
  return prefix_ / fs::path(path).relative_path();
}

Known<std::string> SystemRoot::read(std::string_view path, std::size_t limit_bytes) const {
  const int fd = ::open(resolve(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Known<std::string>::unknown(why(path, errno));
  std::string text(limit_bytes, '\0');
  std::size_t used = 0;
  while (used < limit_bytes) {
    const ssize_t n = ::read(fd, text.data() + used, limit_bytes - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::close(fd);
      return Known<std::string>::unknown(why(path, error));
    }
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  ::close(fd);
  text.resize(used);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0')) {
    text.pop_back();
  }
  return text;
}

Known<std::int64_t> SystemRoot::read_int(std::string_view path) const {
  const auto text = read(path, 256);
  if (!text) return Known<std::int64_t>::unknown(text.reason);
  if (const auto number = parse_int(trim(*text))) return *number;
  return Known<std::int64_t>::unknown(std::string(path) + " holds '" +
                                      printable(text->substr(0, 40)) + "', not a number");
}

bool SystemRoot::exists(std::string_view path) const {
  std::error_code error;
  return fs::exists(resolve(path), error);
}

std::vector<std::string> SystemRoot::list(std::string_view path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(resolve(path), error), end; !error && it != end;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Known<std::string> SystemRoot::link_name(std::string_view path) const {
  std::error_code error;
  const fs::path target = fs::canonical(resolve(path), error);
  if (error) return Known<std::string>::unknown(why(path, error.value()));
  return target.filename().string();
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1);
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || last != end) return std::nullopt;
  return number;
}

std::optional<std::vector<int>> parse_id_list(std::string_view text) {
  std::vector<int> ids;
  for (const std::string& part : split(trim(text), ',')) {
    const auto dash = part.find('-');
    const auto low = parse_int(std::string_view(part).substr(0, dash));
    const auto high =
        dash == std::string::npos ? low : parse_int(std::string_view(part).substr(dash + 1));
    if (!low || !high || *low < 0 || *high < *low || *high >= kMaxId) return std::nullopt;
    for (std::int64_t id = *low; id <= *high; ++id)
      ids.push_back(static_cast<int>(id));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.empty()) return std::nullopt;
  return ids;
}

std::string format_id_list(const std::vector<int>& ids) {
  std::string out;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t last = i;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1)
      ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(ids[i]);
    if (last > i) out += '-' + std::to_string(ids[last]);
    i = last + 1;
  }
  return out;
}

std::optional<std::string> find_field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto colon = line.find(':');
    const auto separator = colon != std::string_view::npos ? colon : line.find_first_of(" \t");
    if (separator == std::string_view::npos || trim(line.substr(0, separator)) != key) continue;
    return std::string(trim(line.substr(separator + 1)));
  }
  return std::nullopt;
}

}  // namespace sluice::env
