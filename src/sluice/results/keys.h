// sluice/results/keys.h - one list of keys per struct, by which it is written to JSON and read
// back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/record.h"
#include "sluice/results/conclusions.h"
#include "sluice/results/fields.h"
#include "sluice/stats/sample.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::results {

class Keys;
template <class T>
concept KeyedStruct = requires(Keys& keys, T& value) {
  keys_of(keys, value);
};

/// Writes or reads the keys that a struct's `void keys_of(Keys&, T&)` names one by one. Reading: a
/// key that is missing leaves its field as it is, for files of earlier versions had fewer; one of
/// the wrong type is a Problem.
class Keys {
 public:
  explicit Keys(Json& out) : out_(&out) {}
  /// Nothing is found in what is no object.
  Keys(const Json& in, const Where& where, Problem& problem)
      : in_(in.is_object() ? &in : nullptr), where_(where), problem_(&problem) {}

  [[nodiscard]] bool writing() const { return out_ != nullptr; }
  /// Reading: whether the key is there, whatever it holds; and whether that is not null.
  [[nodiscard]] bool has(const char* key) const { return in_ != nullptr && in_->contains(key); }
  [[nodiscard]] bool holds(const char* key) const { return has(key) && !in_->at(key).is_null(); }

  template <class T>
  void operator()(const char* key, T& value) {
    static const Json kNothing;
    if (out_ != nullptr) return put((*out_)[key], value);
    const Json* found = find(key);
    const Where where{&where_, key, -1};
    if (found != nullptr && get(*found, where, value)) return;
    if constexpr (KeyedStruct<T>) {  // its figures are then missing too
      Keys keys(kNothing, where, *problem_);
      keys_of(keys, value);
    }
  }
  /// Left out where it is absent.
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    if (out_ == nullptr || value) or_null(key, value);
  }
  template <class T>
  void or_null(const char* key, std::optional<T>& value) {
    if (out_ != nullptr) {
      Json& place = (*out_)[key] = nullptr;
      if (value) put(place, *value);
    } else if (const Json* found = find(key); found != nullptr && !found->is_null()) {
      if (!get(*found, Where{&where_, key, -1}, value.emplace())) value.reset();
    }
  }
  /// Null with `<key>_reason` beside it. A key that is missing has kMissingKey as reason, and is
  /// left out again; a null that nothing explains has none.
  template <class T>
  void operator()(const char* key, measure::Measured<T>& value) {
    if (out_ != nullptr && !value.value && value.reason == kMissingKey) return;
    if (out_ == nullptr) value.reason = has(key) ? "" : kMissingKey;
    or_null(key, value.value);
    const std::string reason = std::string(key) + "_reason";
    if (out_ == nullptr || (!value.value && !value.reason.empty()))
      (*this)(reason.c_str(), value.reason);
  }
  /// Text, list or table; left out where it is empty, and then null is read as that.
  template <class T>
  void unless_empty(const char* key, T& value) {
    if (out_ != nullptr ? !value.empty() : holds(key)) return (*this)(key, value);
    known_.insert(key);
  }
  /// Null where it does not apply, and then it is left as it is.
  template <class T>
  void null_if(const char* key, T& value, bool none) {
    if (out_ != nullptr ? !none : holds(key)) return (*this)(key, value);
    if (out_ != nullptr) (*out_)[key] = nullptr;
    known_.insert(key);
  }
  /// Structs with a `name`, which is the key of each.
  template <class T>
  void by_name(const char* key, std::vector<T>& list) {
    object(key, [&](Keys& in) {
      if (in.in_ != nullptr)
        for (const auto& [name, value] : in.in_->items())
          list.emplace_back().name = name;
      for (T& one : list)
        in(one.name.c_str(), one);
    });
  }
  /// One of `values`, by name; and a list of them.
  template <class T, std::size_t N>
  void choice(const char* key, T& value, const T (&values)[N]) {
    if (out_ != nullptr)
      (*out_)[key] = to_string(value);
    else if (const Json* found = find(key))
      get_named(*found, Where{&where_, key, -1}, value, values);
  }
  template <class T, std::size_t N>
  void choices(const char* key, std::vector<T>& list, const T (&values)[N]) {
    std::vector<Json> names;
    for (const T one : list)
      names.emplace_back(to_string(one));
    (*this)(key, names);
    if (out_ != nullptr) return;
    for (const Json& name : names)
      get_named(name, Where{&where_, key, -1}, list.emplace_back(), values);
  }
  /// `point` at `key`, and at `interval` the bounds, unless it is exact (confidence 0).
  void estimate(const char* key, const char* interval, stats::Estimate& value);
  /// Left out where it is absent.
  void estimate(const char* key, const char* interval, std::optional<stats::Estimate>& value);
  void estimate_or_null(const char* key, const char* interval,
                        std::optional<stats::Estimate>& value);
  /// Null with a reason where it is absent.
  void estimate(const char* key, const char* interval, measure::Measured<stats::Estimate>& value);
  /// An object whose keys are no struct's of its own.
  template <class Members>
  void object(const char* key, Members members) {
    if (out_ != nullptr) {
      Keys in((*out_)[key] = Json::object());
      return members(in);
    }
    const Json* found = find(key);
    const Where where{&where_, key, -1};
    static const Json kNothing;
    Keys in(found != nullptr ? *found : kNothing, where, *problem_);
    if (found != nullptr && !found->is_object()) problem_->wrong(where, "an object", *found);
    members(in);
  }
  /// Numbers by name; the key of each is its name and `suffix`. Without `key` they stand among the
  /// keys here, after those that were asked for.
  void suffixed(const char* key, std::vector<std::pair<std::string, double>>& table,
                const std::string& suffix);
  void suffixed(std::vector<std::pair<std::string, double>>& table, const std::string& suffix);
  /// What was not asked for: kept, and written as it was.
  void rest(Json& other);

  static void put(Json& out, const Json& value) { out = value; }
  template <class T>
  static void put(Json& out, const T& value) {
    if constexpr (KeyedStruct<T>) {
      out = Json::object();
      Keys keys(out);
      keys_of(keys, const_cast<T&>(value));  // writing changes nothing
    } else {
      out = value;
    }
  }
  template <class T>
  static void put(Json& out, const std::vector<T>& list) {
    out = Json::array();
    for (const T& one : list)
      put(out.emplace_back(), one);
  }
  /// An object whose order is kept.
  static void put(Json& out, const std::vector<std::pair<std::string, double>>& table) {
    out = Json::object();
    for (const auto& [name, value] : table)
      out[name] = value;
  }

 private:
  const Json* find(const char* key) {
    known_.insert(key);
    return has(key) ? &in_->at(key) : nullptr;
  }
  // Each is false where the value is of the wrong type, which is then a Problem.
  bool wrong(const Where& where, std::string_view expected, const Json& in) {
    problem_->wrong(where, expected, in);
    return false;
  }
  template <class T, std::size_t N>
  bool get_named(const Json& in, const Where& where, T& value, const T (&values)[N]) {
    std::string accepted;
    for (const T one : values) {
      if (in == to_string(one)) {
        value = one;
        return true;
      }
      accepted += (accepted.empty() ? "" : ", ") + std::string(to_string(one));
    }
    return wrong(where, "one of " + accepted, in);
  }
  static bool get(const Json& in, const Where&, Json& value) {
    value = in;
    return true;
  }
  bool get(const Json& in, const Where& where, double& value) {
    value = in.is_number() ? in.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (in.is_null() || std::isfinite(value)) return true;  // NaN is written as null
    return wrong(where, "a finite number", in) || in.is_number();
  }
  template <class T>
  bool get(const Json& in, const Where& where, std::vector<T>& list) {
    if (!in.is_array()) return wrong(where, "an array", in);
    list.clear();
    bool sound = true;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (get(in[i], Where{&where, {}, static_cast<std::int64_t>(i)}, list.emplace_back()))
        continue;
      list.pop_back();
      sound = false;
    }
    return sound || !list.empty();
  }
  bool get(const Json& in, const Where& where, std::vector<std::pair<std::string, double>>& table);
  bool get(const Json& in, const Where& where, std::map<std::string, double>& table);
  template <class T>
  bool get(const Json& in, const Where& where, T& value) {
    if constexpr (KeyedStruct<T>) {
      if (!in.is_object()) return wrong(where, "an object", in);
      Keys keys(in, where, *problem_);
      keys_of(keys, value);
      return true;
    } else {
      return read_value(in, where, *problem_, value);
    }
  }

  Json* out_ = nullptr;
  const Json* in_ = nullptr;
  Where where_;
  Problem* problem_ = nullptr;
  std::set<std::string, std::less<>> known_;  // keys that were asked for
};

}  // namespace sluice::results
