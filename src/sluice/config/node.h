// sluice/config/node.h - a configuration document as a plain tree that knows where each part was
// written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

class Schema;
struct Entry;

/// Where a node hangs in its document: the chain of keys and list positions above it.
struct Place {
  std::shared_ptr<const Place> parent;  // empty for the root
  std::string key;
  std::ptrdiff_t index = -1;  // position in a list, or -1: then `key` counts
};

class Node {
 public:
  enum class Kind { null, scalar, list, map };

  // Out of line: Entry, which holds a Node, is complete only below.
  Node();  // null
  ~Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;

  static Node map();
  static Node list();
  /// `is_text`: a string, even where it looks like a number.
  static Node scalar(std::string text, bool is_text);
  static Node of(bool value);
  static Node of(double value);
  static Node of(std::int64_t value);
  static Node of(std::uint64_t value);
  static Node of(std::string_view value);
  static Node of(const char* value) { return of(std::string_view(value)); }
  static Node of(int value) { return of(static_cast<std::int64_t>(value)); }
  static Node of(const std::vector<std::string>& values);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_map() const { return kind_ == Kind::map; }
  [[nodiscard]] bool is_list() const { return kind_ == Kind::list; }
  [[nodiscard]] bool is_scalar() const { return kind_ == Kind::scalar; }
  [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
  /// Of a scalar, as written, without quotes.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_text() const { return is_text_; }
  [[nodiscard]] const std::vector<Node>& items() const { return items_; }
  /// In the order of the document; a key written twice is there twice.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// The first entry of that name, or nothing.
  [[nodiscard]] const Node* find(std::string_view key) const;
  Node* find(std::string_view key);

  // Building. set() replaces the first entry of that name or appends one; both turn a null into the
  // right kind.
  Node& set(std::string_view key, Node value);
  Node& push(Node value);
  std::vector<Node>& items() { return items_; }
  std::vector<Entry>& entries() { return entries_; }

  /// "run.yaml:12", or the flag that wrote it: "--set gate.min_change=2".
  [[nodiscard]] std::string where() const;
  [[nodiscard]] int line() const { return line_; }
  void set_origin(std::shared_ptr<const std::string> name, int line);
  [[nodiscard]] const std::shared_ptr<const std::string>& origin() const { return origin_; }

  /// "gate.min_change", "jobs[2].workers"; empty for the root.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] const std::shared_ptr<const Place>& place() const { return place_; }
  /// Tells this node and all below where they hang. Called by the parser and after an override.
  void set_place(std::shared_ptr<const Place> place);
  /// An empty map that stands for the absent entry `key` of this one.
  [[nodiscard]] Node absent_child(std::string_view key) const;

  /// Everything read from this document is also recorded in `schema`, which must outlive the
  /// reading.
  void attach(Schema* schema);
  [[nodiscard]] Schema* schema() const { return schema_; }

  /// Same shape and texts; origins do not count, and a text counts as equal however it was quoted.
  [[nodiscard]] bool same_content(const Node& other) const;

 private:
  Kind kind_ = Kind::null;
  bool is_text_ = false;
  int line_ = 0;  // 1-based; 0: the origin is not a file
  std::string text_;
  std::vector<Node> items_;
  std::vector<Entry> entries_;
  std::shared_ptr<const std::string> origin_;
  std::shared_ptr<const Place> place_;
  Schema* schema_ = nullptr;
};

struct Entry {
  std::string key;
  int line = 0;
  Node value;
};

}  // namespace sluice::config
