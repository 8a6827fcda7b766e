// sluice/config/node.cpp - building, finding and locating parts of a document.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::config {

Node::Node() = default;
Node::~Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;

Node Node::map() {
  Node node;
  node.kind_ = Kind::map;
  return node;
}

Node Node::list() {
  Node node;
  node.kind_ = Kind::list;
  return node;
}

Node Node::scalar(std::string text, bool is_text) {
  Node node;
  node.kind_ = Kind::scalar;
  node.text_ = std::move(text);
  node.is_text_ = is_text;
  return node;
}

Node Node::of(bool value) {
  return scalar(value ? "true" : "false", false);
}
Node Node::of(std::int64_t value) {
  return scalar(fmt::format("{}", value), false);
}
Node Node::of(std::uint64_t value) {
  return scalar(fmt::format("{}", value), false);
}
Node Node::of(std::string_view value) {
  return scalar(std::string(value), true);
}

Node Node::of(double value) {
  if (std::isnan(value)) return scalar(".nan", false);
  if (std::isinf(value)) return scalar(value > 0 ? ".inf" : "-.inf", false);
  return scalar(fmt::format("{}", value),
                false);  // shortest text that reads back as the same number
}

Node Node::of(const std::vector<std::string>& values) {
  Node node = list();
  for (const std::string& value : values)
    node.push(of(value));
  return node;
}

const Node* Node::find(std::string_view key) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.key == key; });
  return it == entries_.end() ? nullptr : &it->value;
}

Node* Node::find(std::string_view key) {
  return const_cast<Node*>(std::as_const(*this).find(key));
}

Node& Node::set(std::string_view key, Node value) {
  if (kind_ == Kind::null) kind_ = Kind::map;
  if (Node* present = find(key)) {
    *present = std::move(value);
    return *present;
  }
  const int line = value.line_;
  entries_.push_back(Entry{std::string(key), line, std::move(value)});
  return entries_.back().value;
}

Node& Node::push(Node value) {
  if (kind_ == Kind::null) kind_ = Kind::list;
  items_.push_back(std::move(value));
  return items_.back();
}

std::string Node::where() const {
  const std::string name = origin_ ? *origin_ : std::string("configuration");
  return line_ > 0 ? fmt::format("{}:{}", name, line_) : name;
}

void Node::set_origin(std::shared_ptr<const std::string> name, int line) {
  origin_ = std::move(name);
  line_ = line;
}

std::string Node::path() const {
  std::vector<const Place*> chain;
  for (const Place* place = place_.get(); place != nullptr; place = place->parent.get()) {
    chain.push_back(place);
  }
  std::string path;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    if ((*it)->index >= 0) {
      path += fmt::format("[{}]", (*it)->index);
    } else {
      path += (path.empty() ? "" : ".") + (*it)->key;
    }
  }
  return path;
}

void Node::set_place(std::shared_ptr<const Place> place) {
  place_ = std::move(place);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    items_[i].set_place(std::make_shared<Place>(Place{place_, "", static_cast<std::ptrdiff_t>(i)}));
  }
  for (Entry& entry : entries_) {
    entry.value.set_place(std::make_shared<Place>(Place{place_, entry.key, -1}));
  }
}

Node Node::absent_child(std::string_view key) const {
  Node node = map();
  node.origin_ = origin_;
  node.line_ = line_;
  node.schema_ = schema_;
  node.place_ = std::make_shared<Place>(Place{place_, std::string(key), -1});
  return node;
}

void Node::attach(Schema* schema) {
  schema_ = schema;
  for (Node& item : items_)
    item.attach(schema);
  for (Entry& entry : entries_)
    entry.value.attach(schema);
}

bool Node::same_content(const Node& other) const {
  if (kind_ != other.kind_ || text_ != other.text_) return false;
  const auto same_entry = [](const Entry& a, const Entry& b) {
    return a.key == b.key && a.value.same_content(b.value);
  };
  return std::equal(items_.begin(), items_.end(), other.items_.begin(), other.items_.end(),
                    [](const Node& a, const Node& b) { return a.same_content(b); }) &&
         std::equal(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
                    same_entry);
}

}  // namespace sluice::config
