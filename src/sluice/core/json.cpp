// sluice/core/json.cpp - JSON text to Json with a depth limit, and back without exceptions.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/json.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace sluice {
namespace {

constexpr std::size_t kMaxDepth = 64;

const Json& missing() {
  static const Json null;
  return null;
}

/// Deepest nesting of brackets outside strings; of text that is not JSON, at least what a parser
/// would reach.
std::size_t nesting_depth(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

/// The library's "[json.exception.parse_error.101] parse error at line 1, column 2: why" without
/// its prefix.
std::string reason(std::string_view what) {
  constexpr std::string_view kAt = "parse error at ";
  if (const auto at = what.find(kAt); at != std::string_view::npos) {
    return std::string(what.substr(at + kAt.size()));
  }
  if (const auto end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
  return std::string(what);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name) {
  if (nesting_depth(text) > kMaxDepth) {
    return Error{Errc::invalid_input,
                 fmt::format("{}: JSON nested deeper than {} levels", printable(name), kMaxDepth)};
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    return Error{Errc::invalid_input, fmt::format("{}: not valid JSON: {}", printable(name),
                                                  printable(reason(e.what())))};
  }
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

const Json& at(const Json& json, const char* key) {
  if (!json.is_object()) return missing();
  const auto found = json.find(key);
  return found != json.end() ? *found : missing();
}

const Json& at_pointer(const Json& json, const std::string& pointer) {
  const Json::json_pointer path(pointer);
  return json.contains(path) ? json.at(path) : missing();
}

std::string string_at(const Json& json, const char* key, const std::string& fallback) {
  const Json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : fallback;
}

}  // namespace sluice
