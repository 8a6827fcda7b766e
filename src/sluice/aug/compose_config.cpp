// sluice/aug/compose_config.cpp - a list of transforms from YAML, with every mistake at its line.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/compose.h"
#include "sluice/aug/registry.h"
#include "sluice/config/format.h"
#include "sluice/config/parse.h"
#include "sluice/config/problems.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace sluice::aug {
namespace {

using config::Node;
using config::Problems;

template <class T>
std::optional<T> number(const std::string& text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                 : std::nullopt;
}

Json scalar(const Node& node) {
  const std::string& text = node.text();
  if (node.is_text()) return text;
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto whole = number<std::int64_t>(text)) return *whole;
  if (const auto real = number<double>(text)) return *real;
  return text;
}

Json json_of(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::null:
      return {};
    case Node::Kind::scalar:
      return scalar(node);
    case Node::Kind::list: {
      Json list = Json::array();
      for (const Node& one : node.items())
        list.push_back(json_of(one));
      return list;
    }
    case Node::Kind::map: {
      Json object = Json::object();
      for (const config::Entry& one : node.entries())
        object[one.key] = json_of(one.value);
      return object;
    }
  }
  return {};
}

/// The line of the parameter that is refused by itself, or of the transform's name.
int line_of_mistake(const TransformSpec& spec, const config::Entry& transform) {
  if (transform.value.is_map())
    for (const config::Entry& one : transform.value.entries())
      if (!spec.make(Json{{one.key, json_of(one.value)}})) return one.line;
  return transform.line;
}

bool has_doubles(const Node& map, Problems& problems) {
  bool found = false;
  for (const config::Entry& one : map.entries())
    if (&map.find(one.key)[0] != &one.value) {
      problems.add(map, one.line, fmt::format("'{}' is written twice", printable(one.key)));
      found = true;
    }
  return found;
}

struct Reading {
  std::vector<Step> steps;
  Problems problems;

  /// The transform and its parameters are sound by themselves.
  void add(const Node& node, const config::Entry& transform, Step step) {
    const TransformSpec* spec = find(step.transform);
    const auto made = aug::make(step.transform, step.params);
    if (made)
      steps.push_back(std::move(step));
    else
      problems.add(node, spec != nullptr ? line_of_mistake(*spec, transform) : transform.line,
                   made.error().message);
  }

  void read(const Node& node) {
    if (node.is_scalar()) {
      add(node, {node.text(), node.line(), Node()}, {.transform = node.text()});
      return;
    }
    if (!node.is_map()) {
      problems.add_value(node,
                         "is no step: accepted are a transform's name, or a map of it to its "
                         "parameters");
      return;
    }
    if (has_doubles(node, problems)) return;
    Step step;
    const config::Entry* transform = nullptr;
    for (const config::Entry& one : node.entries()) {
      if (one.key == "p") {
        const auto value = one.value.is_scalar() ? number<double>(one.value.text()) : std::nullopt;
        if (!value || !(*value >= 0 && *value <= 1))
          problems.add(node, one.line,
                       fmt::format("p {}: accepted is 0 to 1", config::describe(one.value)));
        step.p = value.value_or(1);
      } else if (one.key == "name") {
        if (!one.value.is_scalar() || one.value.text().empty())
          problems.add(node, one.line,
                       fmt::format("name {}: accepted is a word", config::describe(one.value)));
        step.name = one.value.text();
      } else if (transform == nullptr) {
        transform = &one;
      } else {
        problems.add(node, one.line,
                     fmt::format("'{}' beside '{}': a step has one transform, `p` and `name`",
                                 printable(one.key), printable(transform->key)));
        return;
      }
    }
    if (transform == nullptr) {
      problems.add_value(node, "names no transform");
      return;
    }
    if (transform->value.is_map() && has_doubles(transform->value, problems)) return;
    step.transform = transform->key;
    step.params = transform->value.is_null() ? Json::object() : json_of(transform->value);
    add(node, *transform, std::move(step));
  }
};

}  // namespace

Result<Compose> Compose::from_node(const config::Node& node) {
  const Node* list = node.is_map() ? node.find("steps") : &node;
  Reading reading;
  if (node.is_map())
    for (const config::Entry& one : node.entries())
      if (one.key != "steps" || &one.value != list)
        reading.problems.add(
            node, one.line,
            fmt::format("unknown or doubled key '{}': accepted is steps", printable(one.key)));
  if (list == nullptr || !list->is_list())
    reading.problems.add(node, node.line(),
                         "a list of steps is accepted, or a map with it under "
                         "'steps'");
  else
    for (const Node& one : list->items())
      reading.read(one);
  SLUICE_CHECK(reading.problems.status());
  auto made = make(reading.steps);
  if (!made)
    return Error{made.error().code, fmt::format("{}: {}", node.where(), made.error().message)};
  return made;
}

Result<Compose> Compose::load(const std::filesystem::path& path) {
  SLUICE_TRY(const Node node, config::load(path));
  return from_node(node);
}

}  // namespace sluice::aug
