// sluice/eval/probe_set.cpp - reads probe sets and scores responses.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/probe_set.h"

#include "sluice/core/json.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/eval/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>

namespace sluice::eval {
namespace {

constexpr std::size_t kLongestMatched = 1024;  // bytes; std::regex recurses once per character

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

/// ASCII only: the same on every machine.
std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// ECMAScript's dot stops at newlines; ours does not.
std::string with_wide_dots(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      out += c;
      out += pattern[++i];
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    if (c == '.' && !in_class) {
      out += "[\\s\\S]";
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::regex> compile(const ProbeItem& item) {
  auto flags = std::regex::ECMAScript;
  if (!item.case_sensitive) flags |= std::regex::icase;
  try {
    return std::regex(with_wide_dots(item.expected), flags);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

std::optional<Method> parse_method(const std::string& text) {
  if (text == "exact") return Method::exact;
  if (text == "prefix") return Method::prefix;
  if (text == "regex") return Method::regex;
  return std::nullopt;
}

Result<ProbeItem> parse_item(const Json& json, const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    return Error{Errc::invalid_input, fmt::format("{}: {}", where, what)};
  };
  if (!json.is_object()) return refuse("is no JSON object");
  ProbeItem item;
  std::string method = "exact";
  for (const auto& [key, value] : json.items()) {
    if (key == "case_sensitive") {
      if (!value.is_boolean()) return refuse("case_sensitive is no boolean");
      item.case_sensitive = value.get<bool>();
      continue;
    }
    std::string* text = key == "prompt"     ? &item.prompt
                        : key == "expected" ? &item.expected
                        : key == "method"   ? &method
                        : key == "stop"     ? &item.stop
                                            : nullptr;
    if (text == nullptr) {
      return refuse(
          fmt::format("'{}' is not known; prompt, expected, method, case_sensitive and "
                      "stop are accepted",
                      printable(key)));
    }
    if (!value.is_string()) return refuse(key + " is no text");
    *text = value.get<std::string>();
  }
  if (item.prompt.empty() || item.expected.empty())
    return refuse("prompt and expected must be there and not empty");
  const auto known = parse_method(method);
  if (!known) {
    return refuse(fmt::format("method '{}' is not known; exact, prefix and regex are accepted",
                              printable(method)));
  }
  item.method = *known;
  if (item.method == Method::regex && !compile(item)) {
    return refuse(fmt::format("'{}' is no regular expression", printable(item.expected)));
  }
  return item;
}

std::string file_of(std::string_view name) {
  return fmt::format("probes/{}.json", name);
}

}  // namespace

const std::vector<std::string>& probe_names() {
  static const std::vector<std::string> names{"basic_reasoning_25", "format_following_30",
                                              "code_sanity_20", "engine_answers_40"};
  return names;
}

Result<ProbeSet> find_probe_set(std::string_view name) {
  const auto& names = probe_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Error{Errc::usage, fmt::format("probe set '{}' is not known; {} are accepted",
                                          printable(name), join(names))};
  }
  SLUICE_TRY(const std::string_view text, data_file(file_of(name)));
  return parse_probe_set(text, name);
}

Result<ProbeSet> parse_probe_set(std::string_view text, std::string_view name) {
  SLUICE_TRY(const Json json, parse_json(text, name));
  if (!json.is_object() || !json.contains("items") || !json["items"].is_array() ||
      json["items"].empty())
    return Error{Errc::invalid_input, fmt::format("{}: has no list of items", printable(name))};
  ProbeSet set{std::string(name), sha256_hex(text), {}};
  if (const Json& asks = at(json, "asks"); !asks.is_null()) {
    if (asks != "engine")
      return Error{Errc::invalid_input,
                   fmt::format("{}: asks is not known; \"engine\" is accepted", printable(name))};
    set.of_engine = true;
  }
  for (const Json& item : json["items"]) {
    SLUICE_TRY(ProbeItem parsed,
               parse_item(item, fmt::format("{}, item {}", printable(name), set.items.size() + 1)));
    set.items.push_back(std::move(parsed));
  }
  return set;
}

bool is_correct(const ProbeItem& item, std::string_view response) {
  if (item.method == Method::regex) {
    const auto pattern = compile(item);
    const std::string shown(response.substr(0, kLongestMatched));
    return pattern && std::regex_search(shown, *pattern);
  }
  std::string given = trimmed(response);
  std::string expected = trimmed(item.expected);
  if (!item.case_sensitive) {
    given = lower(std::move(given));
    expected = lower(std::move(expected));
  }
  return item.method == Method::exact ? given == expected : given.starts_with(expected);
}

}  // namespace sluice::eval
