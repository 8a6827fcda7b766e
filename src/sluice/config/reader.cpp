// sluice/config/reader.cpp - which keys were asked for, which were written, and what follows from
// the difference.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/reader.h"

#include "sluice/core/text.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <unordered_map>

namespace sluice::config {

/// One section that is being read.
struct Reader::Scope {
  const Node* node;
  std::unordered_map<std::string_view, const Entry*> written;  // first of each name
  std::vector<std::string> asked;
  bool broken = false;  // it is no map: said once, its keys are not missed
};

struct Reader::Context {
  explicit Context(std::string name) : problems(std::move(name)) {}
  Problems problems;
  std::vector<std::shared_ptr<Scope>> scopes;
  std::deque<Node> stand_ins;  // for absent sections
};

Reader::Reader(const Node& node, std::string name)
    : Reader(std::make_shared<Context>(node.path().empty() ? std::move(name) : std::string()),
             node) {
  is_first_ = true;
}

Reader::Reader(std::shared_ptr<Context> context, const Node& node)
    : context_(std::move(context)), scope_(std::make_shared<Scope>()) {
  scope_->node = &node;
  context_->scopes.push_back(scope_);
  if (node.is_null()) return;  // "gate:" with nothing after it is an empty section
  if (!node.is_map()) {
    scope_->broken = true;
    problems().add_value(node, "is not a map of keys");
    return;
  }
  for (const Entry& entry : node.entries()) {
    const auto [first, is_new] = scope_->written.emplace(entry.key, &entry);
    if (is_new || problems().full()) continue;
    problems().add(entry.value, entry.line,
                   fmt::format("duplicate key '{}' (first at {})", problems().path(node, entry.key),
                               first->second->value.where()));
  }
}

Problems& Reader::problems() {
  return context_->problems;
}
Schema* Reader::schema() const {
  return scope_->node->schema();
}
const Node& Reader::section() const {
  return *scope_->node;
}

std::string Reader::schema_path(std::string_view key) const {
  std::string path;
  bool in_index = false;
  for (const char c :
       context_->problems.path(*scope_->node, key)) {  // "jobs[3].workers": "jobs[].workers"
    if (c == ']') in_index = false;
    if (!in_index) path += c;
    if (c == '[') in_index = true;
  }
  return path;
}

const Node* Reader::take(std::string_view key, bool required) {
  scope_->asked.emplace_back(key);
  const auto it = scope_->written.find(key);
  if (it != scope_->written.end()) return &it->second->value;
  const bool describing = schema() != nullptr && schema()->describing();
  if (required && !scope_->broken && !describing) {
    problems().add(*scope_->node, scope_->node->line(),
                   fmt::format("missing key '{}'", problems().path(*scope_->node, key)));
  }
  return nullptr;
}

const Node* Reader::take_section(std::string_view key) {
  if (const Node* node = take(key, false)) return node;
  if (scope_->broken) return nullptr;
  context_->stand_ins.push_back(scope_->node->absent_child(key));
  return &context_->stand_ins.back();
}

Reader Reader::child(std::string_view key) {
  if (const Node* node = take(key, false)) return {context_, *node};
  context_->stand_ins.push_back(scope_->node->absent_child(key));
  Reader reader(context_, context_->stand_ins.back());
  reader.scope_->broken = scope_->broken;
  return reader;
}

std::vector<Reader> Reader::children(std::string_view key) {
  std::vector<Reader> readers;
  const Node* list = take(key, false);
  if (list == nullptr && schema() != nullptr && schema()->describing()) {
    Node example = scope_->node->absent_child(key);
    example.push(Node::map());
    example.attach(schema());
    example.set_place(example.place());
    context_->stand_ins.push_back(std::move(example));
    list = &context_->stand_ins.back();
    readers.push_back(Reader(context_, list->items().front()));
    return readers;
  }
  if (list == nullptr || list->is_null()) return readers;
  if (!list->is_list()) {
    problems().add_value(*list, "is not a list");
    return readers;
  }
  for (const Node& item : list->items())
    readers.push_back(Reader(context_, item));
  return readers;
}

const Node* Reader::node(std::string_view key) {
  return take(key, false);
}

bool Reader::has(std::string_view key) const {
  return scope_->written.count(key) > 0;
}

void Reader::fail(std::string_view key, std::string_view what) {
  const auto it = scope_->written.find(key);
  const Node& at = it == scope_->written.end() ? *scope_->node : it->second->value;
  problems().add(at, at.line(), fmt::format("{}: {}", problems().path(*scope_->node, key), what));
}

Status Reader::finish() {
  assert(is_first_);
  for (const auto& scope : context_->scopes) {
    for (const Entry& entry : scope->node->entries()) {
      if (problems().full()) break;
      const auto& asked = scope->asked;
      if (std::find(asked.begin(), asked.end(), entry.key) != asked.end()) continue;
      const auto near = nearest(entry.key, asked);
      const std::string hint =
          near ? fmt::format("nearest: '{}'", *near) : "accepted: " + join(asked);
      problems().add(entry.value, entry.line,
                     fmt::format("unknown key '{}' ({})", problems().path(*scope->node, entry.key),
                                 asked.empty() && !near ? "none is accepted here" : hint));
    }
  }
  return problems().status();
}

}  // namespace sluice::config
