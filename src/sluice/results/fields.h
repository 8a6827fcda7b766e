// sluice/results/fields.h - reads typed fields out of untrusted JSON and remembers the first thing
// that is wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::results {

/// A place in the document, as a chain on the stack: text is made only for an error.
struct Where {
  const Where* parent = nullptr;
  std::string_view key;     // name in an object ...
  std::int64_t index = -1;  // ... or place in an array, when not negative

  [[nodiscard]] std::string text() const;  // "rows[3].runs[0].samples_ns[2]"
};

/// The first problem of a document; later ones are dropped.
class Problem {
 public:
  explicit Problem(std::string document) : document_(std::move(document)) {}
  void report(const Where& where, std::string_view message);
  /// "<document>: <where>: must be <expected>, is <value>".
  void wrong(const Where& where, std::string_view expected, const Json& value);
  [[nodiscard]] bool found() const { return error_.has_value(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::string document_;
  std::optional<Error> error_;
};

bool read_value(const Json& json, const Where& where, Problem& problem, std::string& out);
bool read_value(const Json& json, const Where& where, Problem& problem, bool& out);
bool read_value(const Json& json, const Where& where, Problem& problem, double& out);  // finite
bool read_value(const Json& json, const Where& where, Problem& problem, std::uint64_t& out);
bool read_value(const Json& json, const Where& where, Problem& problem, std::int64_t& out);  // >= 0
bool read_value(const Json& json, const Where& where, Problem& problem, int& out);           // >= 0

/// The keys of one object. All keys asked for are required; those never asked for are ignored.
class Fields {
 public:
  Fields(const Json& json, const Where& where, Problem& problem);

  template <class T>
  void read(const char* key, T& out) const {
    if (const Json* value = find(key)) read_value(*value, at(key), problem_, out);
  }
  /// Null is accepted when `<key>_reason` says why; then `out` stays as it is and the result is
  /// false.
  template <class T>
  bool read_unless_null(const char* key, T& out, std::string* reason = nullptr) const {
    const Json* value = find_unless_null(key, reason);
    return value != nullptr && read_value(*value, at(key), problem_, out);
  }
  /// The value of a required key, or nullptr after reporting that it is missing.
  const Json* find(const char* key) const;
  /// As find(); also nullptr for a null with a reason.
  const Json* find_unless_null(const char* key, std::string* reason = nullptr) const;
  /// As find(), and an array.
  const Json* array(const char* key) const;
  [[nodiscard]] Where at(const char* key) const { return Where{&where_, key, -1}; }

 private:
  const Json* json_;  // nullptr when the value is no object
  const Where& where_;
  Problem& problem_;
};

}  // namespace sluice::results
