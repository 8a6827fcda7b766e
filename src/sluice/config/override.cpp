// sluice/config/override.cpp - walks a dotted path and puts a parsed value there.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/override.h"

#include "sluice/config/parse.h"
#include "sluice/config/problems.h"
#include "sluice/config/units.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace sluice::config {
namespace {

struct Step {
  std::string key;
  std::optional<std::size_t> index;  // then `key` does not count
};

/// "a.b[2].c" to a, b, [2], c; nothing when it has another shape.
std::optional<std::vector<Step>> parse_path(std::string_view path) {
  std::vector<Step> steps;
  for (const std::string& part : split(path, '.')) {
    const auto bracket = part.find('[');
    const std::string key = part.substr(0, bracket);
    if (key.empty() || key.size() > kMaxKeyBytes) return std::nullopt;
    steps.push_back(Step{key, std::nullopt});
    std::string_view rest =
        bracket == std::string::npos ? "" : std::string_view(part).substr(bracket);
    while (!rest.empty()) {
      const auto end = rest.find(']');
      if (rest.front() != '[' || end == std::string_view::npos) return std::nullopt;
      const auto index = parse_unsigned(rest.substr(1, end - 1));
      if (!index) return std::nullopt;
      steps.push_back(Step{"", static_cast<std::size_t>(*index)});
      rest.remove_prefix(end + 1);
    }
  }
  if (steps.empty() || steps.size() > kMaxDepth) return std::nullopt;
  return steps;
}

void mark_origin(Node& node, const std::shared_ptr<const std::string>& name) {
  node.set_origin(name, 0);
  for (Node& item : node.items())
    mark_origin(item, name);
  for (Entry& entry : node.entries()) {
    entry.line = 0;
    mark_origin(entry.value, name);
  }
}

/// The node one step down, made if it is an absent key; or what is in the way.
Result<Node*> descend(Node& at, const Step& step,
                      const std::shared_ptr<const std::string>& origin) {
  const std::string name = at.path().empty() ? "the document" : "'" + printable(at.path()) + "'";
  if (step.index) {
    if (!at.is_list() || *step.index >= at.items().size()) {
      return Error{Errc::usage,
                   fmt::format("{}: {} {}", *origin, name,
                               at.is_list() ? fmt::format("has only {} elements", at.items().size())
                                            : "is not a list")};
    }
    return &at.items()[*step.index];
  }
  if (!at.is_map() && !at.is_null()) {
    return Error{Errc::usage, fmt::format("{}: {} is not a map, it has no key '{}'", *origin, name,
                                          printable(step.key))};
  }
  if (Node* present = at.find(step.key)) return present;
  Node& made = at.set(step.key, Node());
  made.set_origin(origin, 0);
  return &made;
}

}  // namespace

Status apply_override(Node& root, std::string_view assignment, std::string_view flag) {
  constexpr std::size_t kShown = 120;
  const auto origin = std::make_shared<const std::string>(
      fmt::format("{} {}", flag, printable(to_utf8(assignment.substr(0, kShown)))));
  const auto equals = assignment.find('=');
  const auto steps = parse_path(assignment.substr(0, equals));
  if (equals == std::string_view::npos || !steps) {
    return Error{Errc::usage, fmt::format("{}: not of the form key.path=value", *origin)};
  }
  auto value = parse(assignment.substr(equals + 1), *origin);
  if (!value) {  // "<flag>:1: why": there is only one line
    const std::string_view why = std::string_view(value.error().message).substr(origin->size());
    return Error{Errc::usage,
                 fmt::format("{}{}", *origin, why.substr(0, 3) == ":1:" ? why.substr(2) : why)};
  }
  const bool empty = value->is_map() && value->entries().empty() &&
                     assignment.find('{', equals) == std::string_view::npos;
  if (empty) *value = Node();
  mark_origin(*value, origin);

  Node changed = root;  // an error leaves the document as it was
  Node* at = &changed;
  for (const Step& step : *steps) {
    SLUICE_TRY(at, descend(*at, step, origin));
    changed.set_place(changed.place());
  }
  *at = *std::move(value);
  changed.set_place(changed.place());
  changed.attach(root.schema());
  root = std::move(changed);
  return ok;
}

}  // namespace sluice::config
