// tests/results/result_file_fuzz.cpp - no text crashes reader or renderers; what is accepted is
// written stably.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/json.h"
#include "sluice/report/report.h"
#include "sluice/results/result_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace report = sluice::report;
  namespace results = sluice::results;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = sluice::parse_json(text, "fuzz");
  if (!json) return 0;
  const auto file = results::from_json(*json, "fuzz");
  if (!file) {
    if (file.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const std::string once = results::to_text(results::to_json(*file));
  const auto again_json = sluice::parse_json(once, "written");
  if (!again_json) std::abort();
  const auto again = results::from_json(*again_json, "written");
  if (!again || results::to_text(results::to_json(*again)) != once) std::abort();
  const std::string html = report::html({*file});
  if (report::markdown({*file}).empty() || report::csv({*file}).empty() ||
      report::text_table({*file}).empty()) {
    std::abort();
  }
  if (html.find("<script") != std::string::npos) std::abort();
  return 0;
}
