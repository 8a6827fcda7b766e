// sluice/core/json.h - the one JSON type (keys keep their order) and safe reading of untrusted
// text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace sluice {

using Json = nlohmann::ordered_json;

/// Parses one JSON document. `name` is what the error calls it (a path, "worker reply").
/// Refuses nesting deeper than 64 levels: our own files need 8, and deeper ones only exhaust the
/// stack.
Result<Json> parse_json(std::string_view text, std::string_view name);

/// JSON text; bytes that are not UTF-8 become U+FFFD (Json::dump throws on them). `indent` -1: one
/// line.
std::string dump_json(const Json& json, int indent = 2);

}  // namespace sluice
