// sluice/report/site/page.h - all stored visits as one page that draws itself: `sluice history
// --site` and `sluice serve`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/gate/site/site.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::report {

struct SiteOptions {
  /// The address of a raw file as the page has it, percent-encoded; empty: no link.
  std::function<std::string(const std::filesystem::path&)> address;
  std::string made;   // UTC
  bool live = false;  // of `serve`: the page asks for what is new
};

/// The document behind the page: metrics, and per group visits by column and series. Numbers of a
/// series are float32, little endian, in base64.
Json site_json(const gate::Site& site, const SiteOptions& options);

/// The page with that document in it. One file, nothing is loaded; its content security policy lets
/// no script run but its own, by digest.
std::string site_page(const gate::Site& site, const SiteOptions& options);

/// JSON for a <script> element: no byte of it can end the element.
std::string inert_json(const Json& json);

const char* site_style();  // besides page_style()

}  // namespace sluice::report
