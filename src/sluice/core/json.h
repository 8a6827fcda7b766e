// sluice/core/json.h - the one JSON type (keys keep their order), safe reading of untrusted
// text and of values that may be missing.
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

/// Null where it is missing.
const Json& at(const Json& json, const char* key);
/// The same by a path, "/memory/peak_bytes".
const Json& at_pointer(const Json& json, const std::string& pointer);
/// `fallback` where it is missing or no text.
std::string string_at(const Json& json, const char* key, const std::string& fallback = "");

}  // namespace sluice
