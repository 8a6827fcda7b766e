// sluice/results/fields.cpp - reads typed fields out of untrusted JSON and remembers the first
// thing that is wrong.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/fields.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace sluice::results {
namespace {

constexpr std::size_t kShownValue = 40;  // characters of an offending value that an error repeats

/// What an error shows of a value: scalars as they stand, containers by their kind.
std::string in_words(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kShownValue) text = text.substr(0, kShownValue) + "...";
  return text;
}

}  // namespace

std::string Where::text() const {
  std::string text = parent != nullptr ? parent->text() : std::string();
  if (index >= 0) return text + fmt::format("[{}]", index);
  if (!text.empty() && !key.empty()) text += '.';
  return text + std::string(key);
}

void Problem::report(const Where& where, std::string_view message) {
  if (error_) return;
  const std::string place = where.text();
  error_ = Error{Errc::invalid_input,
                 place.empty()
                     ? fmt::format("{}: {}", printable(document_), message)
                     : fmt::format("{}: {}: {}", printable(document_), printable(place), message)};
}

void Problem::wrong(const Where& where, std::string_view expected, const Json& value) {
  report(where, fmt::format("must be {}, is {}", expected, in_words(value)));
}

bool read_value(const Json& json, const Where& where, Problem& problem, std::string& out) {
  if (!json.is_string()) {
    problem.wrong(where, "a string", json);
    return false;
  }
  out = json.get_ref<const std::string&>();
  return true;
}

bool read_value(const Json& json, const Where& where, Problem& problem, bool& out) {
  if (!json.is_boolean()) {
    problem.wrong(where, "true or false", json);
    return false;
  }
  out = json.get<bool>();
  return true;
}

bool read_value(const Json& json, const Where& where, Problem& problem, double& out) {
  if (!json.is_number() || !std::isfinite(json.get<double>())) {
    problem.wrong(where, "a finite number", json);
    return false;
  }
  out = json.get<double>();
  return true;
}

bool read_value(const Json& json, const Where& where, Problem& problem, std::uint64_t& out) {
  if (!json.is_number_unsigned() && !(json.is_number_integer() && json.get<std::int64_t>() >= 0)) {
    problem.wrong(where, "an integer of at least 0 and at most 18446744073709551615", json);
    return false;
  }
  out = json.get<std::uint64_t>();
  return true;
}

namespace {

/// An integer in [0, largest of T].
template <class T>
bool read_counted(const Json& json, const Where& where, Problem& problem, T& out) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  const bool integer = json.is_number_integer();
  const bool negative = integer && !json.is_number_unsigned() && json.get<std::int64_t>() < 0;
  if (!integer || negative || json.get<std::uint64_t>() > kMost) {
    problem.wrong(where, fmt::format("an integer from 0 to {}", kMost), json);
    return false;
  }
  out = json.get<T>();
  return true;
}

}  // namespace

bool read_value(const Json& json, const Where& where, Problem& problem, std::int64_t& out) {
  return read_counted(json, where, problem, out);
}

bool read_value(const Json& json, const Where& where, Problem& problem, int& out) {
  return read_counted(json, where, problem, out);
}

Fields::Fields(const Json& json, const Where& where, Problem& problem)
    : json_(json.is_object() ? &json : nullptr), where_(where), problem_(problem) {
  if (json_ == nullptr) problem_.wrong(where, "an object", json);
}

const Json* Fields::find(const char* key) const {
  if (json_ == nullptr) return nullptr;
  const auto found = json_->find(key);
  if (found != json_->end()) return &*found;
  problem_.report(at(key), "is missing");
  return nullptr;
}

const Json* Fields::find_unless_null(const char* key, std::string* reason) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_null()) return value;
  const std::string reason_key = std::string(key) + "_reason";
  const auto found = json_->find(reason_key);
  if (found == json_->end()) {
    problem_.report(at(key), fmt::format("is null, which needs {} to say why", reason_key));
    return nullptr;
  }
  std::string text;
  if (read_value(*found, Where{&where_, reason_key, -1}, problem_, text) && reason != nullptr)
    *reason = text;
  return nullptr;
}

const Json* Fields::array(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr || value->is_array()) return value;
  problem_.wrong(at(key), "an array", *value);
  return nullptr;
}

}  // namespace sluice::results
