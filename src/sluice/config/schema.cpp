// sluice/config/schema.cpp - keeps recorded keys and the tree of values in force.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/schema.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::config {
namespace {

std::string code(const std::string& text) {
  return text.empty() ? "" : "`" + table_cell(text) + "`";
}

}  // namespace

Node Schema::blank() {
  describing_ = true;
  Node node = Node::map();
  node.attach(this);
  return node;
}

Node& Schema::section_at(const Place* place) {
  if (place == nullptr) return resolved_;
  Node& parent = section_at(place->parent.get());
  if (place->index < 0) {
    Node* present = parent.find(place->key);
    return present != nullptr ? *present : parent.set(place->key, Node());
  }
  const auto index = static_cast<std::size_t>(place->index);
  while (parent.items().size() <= index)
    parent.push(Node());
  return parent.items()[index];
}

void Schema::record(Key key, const Node& section, std::string_view name, Node value) {
  const auto same = [&](const Key& known) { return known.path == key.path; };
  if (std::none_of(keys_.begin(), keys_.end(), same)) keys_.push_back(std::move(key));
  section_at(section.place().get()).set(name, std::move(value));
}

std::string Schema::markdown() const {
  std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const Key& key : keys_) {
    const std::string type = key.range.empty() ? key.type : key.type + ", " + key.range;
    text += fmt::format("| {} | {} | {} | {} |\n", code(key.path), table_cell(type),
                        key.required ? "required" : code(key.default_text), table_cell(key.doc));
  }
  return text;
}

}  // namespace sluice::config
