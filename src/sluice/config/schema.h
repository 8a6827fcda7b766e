// sluice/config/schema.h - what readers asked for and what they got: the source of docs/config.md
// and of resolved_config.yaml.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/node.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

/// Attach to a Node before it is read (`node.attach(&schema)`): every key is recorded with its
/// default and the value that counts. Or describe without a document: `Schema schema;
/// Run::parse(schema.blank());` asks for every key, misses none, and sees one element of every list
/// of sections.
class Schema {
 public:
  struct Key {
    std::string path;  // "gate.min_change", "jobs[].workers"
    std::string type;
    std::string range;
    std::string default_text;  // YAML on one line; empty when the key is required
    std::string doc;
    bool required = false;
  };

  /// An empty document that stands for every document.
  Node blank();
  [[nodiscard]] bool describing() const { return describing_; }

  /// Called by Reader.
  void record(Key key, const Node& section, std::string_view name, Node value);

  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }
  /// Every recorded key with the value in force, in the order in which the program asked for them.
  [[nodiscard]] const Node& resolved() const { return resolved_; }
  /// A table: key, type, default, doc.
  [[nodiscard]] std::string markdown() const;

 private:
  Node& section_at(const Place* place);

  std::vector<Key> keys_;
  Node resolved_ = Node::map();
  bool describing_ = false;
};

}  // namespace sluice::config
