// sluice/plan/page_text.h - what the generated pages share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sluice::plan {

/// Title, and where the page comes from.
inline std::string page_head(std::string_view title, std::string_view source) {
  return fmt::format("<!-- Written by tools/docs from {}; edit that instead. -->\n# {}\n", source,
                     title);
}

}  // namespace sluice::plan
