// sluice/core/secrets.h - what must not be shown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sluice {

/// With what stands before the host of an address (`http://name:password@host`) made `***`: for
/// text that is shown.
inline std::string without_passwords(std::string_view text) {
  std::string shown;
  for (;;) {
    const std::size_t mark = text.find("://");
    if (mark == std::string_view::npos) break;
    const std::string_view scheme = text.substr(0, mark);
    // A password may hold anything; keys of buckets may hold an `@`.
    const bool web = scheme.ends_with("http") || scheme.ends_with("https");
    shown += text.substr(0, mark + 3);
    text.remove_prefix(mark + 3);
    const std::size_t end = text.find_first_of(web ? " \t\r\n" : " \t\r\n/?#'`");
    const std::size_t at = text.substr(0, end).rfind('@');
    if (at == std::string_view::npos) continue;
    shown += "***";
    text.remove_prefix(at);
  }
  return shown += text;
}

}  // namespace sluice
