// sluice/core/json.h - the one JSON type (keys keep their order) and safe reading of untrusted text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

#include "sluice/core/result.h"

namespace sluice {

using Json = nlohmann::ordered_json;

/// Parses one JSON document. `name` is what the error calls it (a path, "worker reply").
/// Refuses nesting deeper than 64 levels: our own files need 8, and deeper ones only exhaust the stack.
Result<Json> parse_json(std::string_view text, std::string_view name);

}  // namespace sluice
