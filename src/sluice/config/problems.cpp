// sluice/config/problems.cpp - words for problems and their order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/problems.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::config {

std::string describe(const Node& node) {
  constexpr std::size_t kShown = 60;
  switch (node.kind()) {
    case Node::Kind::null:
      return "an empty value";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a map";
    case Node::Kind::scalar:
      break;
  }
  const std::string& text = node.text();
  if (text.size() <= kShown) return fmt::format("'{}'", printable(text));
  return fmt::format("'{}…'", printable(to_utf8(text.substr(0, kShown))));
}

std::string Problems::path(const Node& node, std::string_view key) const {
  std::string path = node.path();
  if (!root_name_.empty()) {
    const bool joined = path.empty() || path.front() == '[';
    path = root_name_ + (joined ? "" : ".") + path;
  }
  if (!key.empty()) path += (path.empty() ? "" : ".") + std::string(key);
  return printable(path);
}

void Problems::keep(int line, std::string message) {
  if (full()) {
    ++left_out_;
  } else {
    found_.push_back(Problem{line, std::move(message)});
  }
}

void Problems::add(const Node& node, int line, std::string message) {
  Node at;
  if (node.line() == 0) line = 0;  // it came from a flag, whatever line its key is on
  at.set_origin(node.origin(), line);
  keep(line, fmt::format("{}: {}", at.where(), message));
}

void Problems::add_value(const Node& node, std::string_view what) {
  const std::string name = path(node);
  const std::string subject = name.empty() ? describe(node) : name + ": " + describe(node);
  add(node, node.line(), fmt::format("{} {}", subject, what));
}

void Problems::add_error(const Node& node, const Error& error) {
  keep(node.line(), error.message);
}

Status Problems::status() const {
  if (empty()) return ok;
  std::vector<Problem> sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::string message;
  const std::size_t shown = std::min(sorted.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i)
    message += (i > 0 ? "; " : "") + sorted[i].message;
  const std::size_t more = sorted.size() - shown + left_out_;
  if (more > 0) message += fmt::format("; and {} more", more);
  return Error{Errc::invalid_config, message};
}

}  // namespace sluice::config
