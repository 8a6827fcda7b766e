// sluice/env/system_root.h - the files of /proc, /sys and /etc below a prefix, so that tests can
// bring their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/known.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::env {

/// Every path given to it is absolute, as on the machine described ("/proc/stat"). Nothing here
/// throws.
class SystemRoot {
 public:
  explicit SystemRoot(std::filesystem::path prefix = "/") : prefix_(std::move(prefix)) {}

  /// The first `limit_bytes` of a file without trailing white space. The reason names the path.
  [[nodiscard]] Known<std::string> read(std::string_view path,
                                        std::size_t limit_bytes = 64 * 1024) const;
  [[nodiscard]] Known<std::int64_t> read_int(std::string_view path) const;
  [[nodiscard]] bool exists(std::string_view path) const;
  /// Names in a folder, sorted; none when it cannot be read.
  [[nodiscard]] std::vector<std::string> list(std::string_view path) const;
  /// Last part of what a link at `path` finally points to ("vda" for /sys/dev/block/254:0).
  [[nodiscard]] Known<std::string> link_name(std::string_view path) const;
  /// True for the machine we run on, false for a fixture.
  [[nodiscard]] bool is_this_machine() const { return prefix_ == "/"; }

 private:
  [[nodiscard]] std::filesystem::path resolve(std::string_view path) const;
  std::filesystem::path prefix_;
};

std::string_view trim(std::string_view text);
/// The whole of `text` as a number: decimal, or hexadecimal with 0x.
std::optional<std::int64_t> parse_int(std::string_view text);
/// "0-3,8" as the kernel writes CPU and node lists; nothing on anything else, or on ids of 65536
/// and more.
std::optional<std::vector<int>> parse_id_list(std::string_view text);
/// {0, 1, 2, 5} as "0-2,5".
std::string format_id_list(const std::vector<int>& ids);
/// Value of the line `key : value` (or `key value`) in a file such as cpuinfo, meminfo or status.
std::optional<std::string> find_field(std::string_view text, std::string_view key);

}  // namespace sluice::env
