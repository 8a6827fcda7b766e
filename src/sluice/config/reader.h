// sluice/config/reader.h - reads a section into a struct and gathers everything that is wrong with
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/emit.h"
#include "sluice/config/format.h"
#include "sluice/config/node.h"
#include "sluice/config/problems.h"
#include "sluice/config/schema.h"
#include "sluice/core/result.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

///   Policy policy;                       // the member initialisers are the documented defaults
///   config::Reader reader(node, "gate");
///   reader.read("min_change", policy.min_change, config::open_interval(0.0, 1.0), "noise below");
///   reader.require("name", policy.name);
///   SLUICE_CHECK(reader.finish());       // all that is bad, missing, doubled or unknown, at once
///
/// A key that is absent leaves its field alone; so does one that is wrong. The Node must outlive
/// the Reader.
class Reader {
 public:
  /// `name` goes before the keys in messages when the node is a whole document; a section knows its
  /// own path.
  explicit Reader(const Node& node, std::string name = {});

  template <class T>
  void read(std::string_view key, T& field) {
    get(key, field, Plain<T>{}, {}, false);
  }
  /// A struct with its own parse(). An absent section is an empty one: what it requires is then
  /// missing.
  template <Section T>
  void read(std::string_view key, T& field) {
    if (const Node* value = take_section(key)) Plain<T>{}.read(*value, field, problems());
  }
  template <class T, class Format>
  void read(std::string_view key, T& field, const Format& format, std::string_view doc = {}) {
    get(key, field, format, doc, false);
  }
  template <class T>
  void require(std::string_view key, T& field) {
    get(key, field, Plain<T>{}, {}, true);
  }
  template <class T, class Format>
  void require(std::string_view key, T& field, const Format& format, std::string_view doc = {}) {
    get(key, field, format, doc, true);
  }

  /// A section of its own. Absent or empty: a Reader in which every key is absent. finish() of this
  /// Reader covers it.
  Reader child(std::string_view key);
  /// One Reader per element of a list of sections; none when it is absent.
  std::vector<Reader> children(std::string_view key);
  /// Accepts the key without reading it.
  const Node* node(std::string_view key);
  /// Written in the document, even if empty.
  [[nodiscard]] bool has(std::string_view key) const;
  /// For checks between fields: "run.yaml:3: gate.low: <what>", at the key's line (the section's
  /// when it is absent).
  void fail(std::string_view key, std::string_view what);

  /// Once, on the Reader that was made from a Node.
  Status finish();

 private:
  struct Scope;
  struct Context;
  Reader(std::shared_ptr<Context> context, const Node& node);

  /// The value under `key`, or nothing when it is absent (reported if required).
  const Node* take(std::string_view key, bool required);
  /// The same with an empty section for an absent one; nothing when this Reader's own section is no
  /// map.
  const Node* take_section(std::string_view key);
  Problems& problems();
  [[nodiscard]] Schema* schema() const;
  [[nodiscard]] std::string schema_path(std::string_view key) const;
  [[nodiscard]] const Node& section() const;

  template <class T, class Format>
  void get(std::string_view key, T& field, const Format& format, std::string_view doc,
           bool required) {
    Schema::Key entry;
    if (schema() != nullptr) {
      entry =
          Schema::Key{schema_path(key), format.type(),
                      format.range(),   required ? std::string() : to_yaml_line(format.show(field)),
                      std::string(doc), required};
    }
    if (const Node* value = take(key, required)) format.read(*value, field, problems());
    if (schema() != nullptr) schema()->record(std::move(entry), section(), key, format.show(field));
  }

  std::shared_ptr<Context> context_;
  std::shared_ptr<Scope> scope_;
  bool is_first_ = false;
};

}  // namespace sluice::config
