// sluice/aug/field.h - a named member of a parameter or draw struct: JSON in and out, range, words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::aug {

/// At most N values, without allocation: what a draw may hold when its length varies.
template <class T, std::size_t N>
struct Few {
  std::array<T, N> values{};
  std::size_t count = 0;

  [[nodiscard]] const T* begin() const { return values.data(); }
  [[nodiscard]] const T* end() const { return values.data() + count; }
  [[nodiscard]] std::size_t size() const { return count; }
  const T& operator[](std::size_t i) const { return values[i]; }
  T& operator[](std::size_t i) { return values[i]; }
  void push(const T& value) { values[count++] = value; }
};

/// One member of S. Transforms list theirs; parsing, documents and replay read the list.
template <class S>
struct Field {
  std::string name;
  std::string accepted;  // "0 to 255", "two numbers, 0 to 1, the first not above the second"
  std::string doc;       // unit and meaning; may be empty
  std::function<Json(const S&)> get;
  std::function<Status(S&, const Json&)> set;
};

namespace detail {

/// False when `json` is no such value or lies outside [low, high].
template <class T>
bool read_number(T& value, const Json& json, double low, double high) {
  if constexpr (std::same_as<T, bool>) {
    if (!json.is_boolean()) return false;
    value = json.get<bool>();
    return true;
  } else if constexpr (std::integral<T>) {
    if (!json.is_number_integer()) return false;
    if (json.is_number_unsigned() && sizeof(T) == 8) {  // keys: all 64 bits
      value = static_cast<T>(json.get<std::uint64_t>());
      return true;
    }
    const auto number = json.get<std::int64_t>();
    if (static_cast<double>(number) < low || static_cast<double>(number) > high) return false;
    value = static_cast<T>(number);
    return true;
  } else {
    if (!json.is_number()) return false;
    const double number = json.get<double>();
    if (!std::isfinite(number) || number < low || number > high) return false;
    value = static_cast<T>(number);
    return true;
  }
}

template <class T, std::size_t N>
bool read_number(std::array<T, N>& value, const Json& json, double low, double high) {
  if (!json.is_array() || json.size() != N) return false;
  for (std::size_t i = 0; i < N; ++i)
    if (!read_number(value[i], json[i], low, high)) return false;
  return true;
}

template <class T, std::size_t N>
bool read_number(Few<T, N>& value, const Json& json, double low, double high) {
  if (!json.is_array() || json.size() > N) return false;
  value.count = json.size();
  for (std::size_t i = 0; i < value.count; ++i)
    if (!read_number(value[i], json[i], low, high)) return false;
  return true;
}

template <class T>
Json write_number(const T& value) {
  if constexpr (std::same_as<T, std::uint8_t>)
    return Json(static_cast<int>(value));
  else
    return Json(value);
}
template <class T, std::size_t N>
Json write_number(const std::array<T, N>& value) {
  Json list = Json::array();
  for (const T& one : value)
    list.push_back(write_number(one));
  return list;
}
template <class T, std::size_t N>
Json write_number(const Few<T, N>& value) {
  Json list = Json::array();
  for (const T& one : value)
    list.push_back(write_number(one));
  return list;
}

/// "an integer"; as part of a list "integers".
template <class T>
struct Kind {
  static std::string words() {
    return std::same_as<T, bool> ? "true or false" : std::integral<T> ? "an integer" : "a number";
  }
  static std::string several() { return std::integral<T> ? "integers" : "numbers"; }
};
template <class T, std::size_t N>
struct Kind<std::array<T, N>> {
  static std::string words() { return fmt::format("a list of {} {}", N, Kind<T>::several()); }
  static std::string several() { return fmt::format("lists of {} {}", N, Kind<T>::several()); }
};
template <class T, std::size_t N>
struct Kind<Few<T, N>> {
  static std::string words() { return fmt::format("a list of at most {} numbers", N); }
};

inline Error refused(const std::string& name, const Json& json, const std::string& accepted) {
  return Error{Errc::invalid_config,
               fmt::format("{} {}: accepted is {}", name, printable(json.dump()), accepted)};
}

}  // namespace detail

/// A number, a bool, an array of them or a Few; every number must lie in [low, high].
template <class S, class T>
Field<S> field(std::string name, T S::*member, double low, double high, std::string doc = {}) {
  std::string accepted = fmt::format("{}, {} to {}", detail::Kind<T>::words(), low, high);
  return {name, accepted, std::move(doc),
          [member](const S& s) { return detail::write_number(s.*member); },
          [=](S& s, const Json& json) -> Status {
            if (!detail::read_number(s.*member, json, low, high))
              return detail::refused(name, json, accepted);
            return ok;
          }};
}

/// Any finite value.
template <class S, class T>
Field<S> field(std::string name, T S::*member, std::string doc = {}) {
  std::string accepted = detail::Kind<T>::words();
  return {name, accepted, std::move(doc),
          [member](const S& s) { return detail::write_number(s.*member); },
          [=](S& s, const Json& json) -> Status {
            if (!detail::read_number(s.*member, json, -1e300, 1e300))
              return detail::refused(name, json, accepted);
            return ok;
          }};
}

/// [from, to]: both in [low, high], the first not above the second.
template <class S, class T>
Field<S> range(std::string name, std::array<T, 2> S::*member, double low, double high,
               std::string doc = {}) {
  std::string accepted = fmt::format("[from, to] with {} <= from <= to <= {}", low, high);
  return {name, accepted, std::move(doc),
          [member](const S& s) { return detail::write_number(s.*member); },
          [=](S& s, const Json& json) -> Status {
            std::array<T, 2> value{};
            if (!detail::read_number(value, json, low, high) || value[0] > value[1])
              return detail::refused(name, json, accepted);
            s.*member = value;
            return ok;
          }};
}

/// One of a few words.
template <class S>
Field<S> choice(std::string name, std::string S::*member, std::vector<std::string> words,
                std::string doc = {}) {
  std::string accepted = fmt::format("one of {}", fmt::join(words, ", "));
  return {name, accepted, std::move(doc), [member](const S& s) { return Json(s.*member); },
          [=](S& s, const Json& json) -> Status {
            if (!json.is_string() ||
                std::find(words.begin(), words.end(), json.get<std::string>()) == words.end())
              return detail::refused(name, json, accepted);
            s.*member = json.get<std::string>();
            return ok;
          }};
}

template <class S>
Json to_json(const std::vector<Field<S>>& fields, const S& value) {
  Json object = Json::object();
  for (const Field<S>& one : fields)
    object[one.name] = one.get(value);
  return object;
}

/// Sets what `json` names and leaves the rest; an unknown name is an error that lists the known.
template <class S>
Status from_json(S& value, const Json& json, const std::vector<Field<S>>& fields) {
  if (!json.is_object() && !json.is_null())
    return Error{Errc::invalid_config,
                 fmt::format("{}: accepted is an object of parameters", printable(json.dump()))};
  for (const auto& [key, one] : json.items()) {
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&key = key](const Field<S>& f) { return f.name == key; });
    if (found == fields.end()) {
      std::vector<std::string> names;
      for (const Field<S>& f : fields)
        names.push_back(f.name);
      return Error{Errc::invalid_config,
                   fmt::format("unknown parameter '{}': accepted are {}", printable(key),
                               names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
    }
    SLUICE_CHECK(found->set(value, one));
  }
  return ok;
}

}  // namespace sluice::aug
