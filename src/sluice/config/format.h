// sluice/config/format.h - how a value is written and which values are accepted; given to
// Reader::read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/node.h"
#include "sluice/config/problems.h"
#include "sluice/core/result.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// A format for T has
//   bool read(const Node&, T& out, Problems&) const;  false: a problem, and `out` is untouched
//   std::string type() const;                         "number"; for docs/config.md
//   std::string range() const;                        "in (0, 1)", or empty
//   Node show(const T&) const;                        what read() would accept again
namespace sluice::config {

bool read_value(const Node& node, bool& out, Problems& problems);
bool read_value(const Node& node, std::int64_t& out, Problems& problems);
bool read_value(const Node& node, std::uint64_t& out, Problems& problems);
bool read_value(const Node& node, double& out, Problems& problems);
bool read_value(const Node& node, std::string& out, Problems& problems);

/// A struct with its own section: `static Result<T> parse(const config::Node&)`.
template <class T>
concept Section = requires(const Node& node) {
  { T::parse(node) } -> std::same_as<Result<T>>;
};

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// A list, each element by `format`.
template <class Format>
struct ListOf {
  Format format;
  std::size_t min_count = 0;

  template <class T>
  bool read(const Node& node, std::vector<T>& out, Problems& problems) const {
    if (!node.is_list()) {
      problems.add_value(node, "is not a list");
      return false;
    }
    if (node.items().size() < min_count) {
      problems.add_value(
          node, fmt::format("has {} of at least {} elements", node.items().size(), min_count));
      return false;
    }
    std::vector<T> values;
    bool all = true;
    for (const Node& item : node.items()) {
      T value{};
      all = format.read(item, value, problems) && all;
      values.push_back(std::move(value));
    }
    if (all) out = std::move(values);
    return all;
  }
  [[nodiscard]] std::string type() const { return "list of " + format.type(); }
  [[nodiscard]] std::string range() const {
    std::string each = format.range();
    if (min_count == 0) return each;
    return fmt::format("at least {} element{}{}{}", min_count, min_count == 1 ? "" : "s",
                       each.empty() ? "" : ", each ", each);
  }
  template <class T>
  [[nodiscard]] Node show(const std::vector<T>& values) const {
    Node node = Node::list();
    for (const auto& value : values)
      node.push(format.show(value));
    return node;
  }
};

/// By type alone: bool, numbers, text, paths, lists and optionals (null: none) of these, and
/// sections.
template <class T>
struct Plain {
  bool read(const Node& node, T& out, Problems& problems) const {
    if constexpr (IsList<T>::value) {
      return ListOf<Plain<typename T::value_type>>{}.read(node, out, problems);
    } else if constexpr (IsOptional<T>::value) {
      typename T::value_type value{};
      if (!node.is_null() && !Plain<typename T::value_type>{}.read(node, value, problems))
        return false;
      out = node.is_null() ? T{} : T{std::move(value)};
      return true;
    } else if constexpr (Section<T>) {
      auto parsed = T::parse(node);
      if (!parsed) {
        problems.add_error(node, parsed.error());
        return false;
      }
      out = std::move(parsed).value();
      return true;
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
      return read_value(node, out, problems);
    } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
      std::string text;
      if (!read_value(node, text, problems)) return false;
      out = text;
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      return read_integer(node, out, problems);
    } else {
      static_assert(std::is_floating_point_v<T>, "give this type a format or a static parse()");
      double value = 0;
      if (!read_value(node, value, problems)) return false;
      out = static_cast<T>(value);
      return true;
    }
  }
  [[nodiscard]] std::string type() const {
    if constexpr (IsList<T>::value) return "list of " + Plain<typename T::value_type>{}.type();
    if constexpr (IsOptional<T>::value) return Plain<typename T::value_type>{}.type() + " or null";
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::is_same_v<T, std::filesystem::path>) return "path";
    if constexpr (std::is_integral_v<T>) return "whole number";
    if constexpr (std::is_floating_point_v<T>) return "number";
    return "text";
  }
  [[nodiscard]] std::string range() const { return {}; }
  [[nodiscard]] Node show(const T& value) const {
    if constexpr (IsList<T>::value) {
      return ListOf<Plain<typename T::value_type>>{}.show(value);
    } else if constexpr (IsOptional<T>::value) {
      return value ? Plain<typename T::value_type>{}.show(*value) : Node();
    } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
      return Node::of(std::string_view(value.native()));
    } else if constexpr (std::is_floating_point_v<T>) {
      return Node::of(static_cast<double>(value));
    } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> &&
                         !std::is_same_v<T, bool>) {
      return Node::of(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return Node::of(static_cast<std::int64_t>(value));
    } else if constexpr (Section<T>) {
      return {};  // its own Reader records its keys
    } else {
      return Node::of(value);
    }
  }

 private:
  static bool read_integer(const Node& node, T& out, Problems& problems) {
    std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t> value = 0;
    if (!read_value(node, value, problems)) return false;
    if (!std::in_range<T>(value)) {
      problems.add_value(node,
                         fmt::format("is not between {} and {}", std::numeric_limits<T>::min(),
                                     std::numeric_limits<T>::max()));
      return false;
    }
    out = static_cast<T>(value);
    return true;
  }
};

/// Values between bounds; `Inner` says how they are written.
template <class B>
struct Interval {
  std::optional<B> low;
  std::optional<B> high;
  bool open = false;  // the bounds themselves are not accepted

  template <class T>
  [[nodiscard]] bool contains(T value) const {
    if (low && (open ? !less(*low, value) : less(value, *low))) return false;
    return !(high && (open ? !less(value, *high) : less(*high, value)));
  }
  template <class T>
  bool read(const Node& node, T& out, Problems& problems) const {
    return read_as(Plain<T>{}, node, out, problems);
  }
  template <class T>
  bool read(const Node& node, std::vector<T>& out, Problems& problems) const {
    return ListOf<Interval>{*this}.read(node, out, problems);
  }
  template <class Inner, class T>
  bool read_as(const Inner& inner, const Node& node, T& out, Problems& problems) const {
    T value{};
    if (!inner.read(node, value, problems)) return false;
    if (!contains(value)) {
      problems.add_value(node, "is not " + range());
      return false;
    }
    out = std::move(value);
    return true;
  }
  [[nodiscard]] std::string type() const {
    return std::is_integral_v<B> ? "whole number" : "number";
  }
  [[nodiscard]] std::string range() const {
    if (low && high && open) return fmt::format("in ({}, {})", *low, *high);
    if (low && high) return fmt::format("in [{}, {}]", *low, *high);
    if (low) return fmt::format("{} {}", open ? "above" : "at least", *low);
    if (high) return fmt::format("{} {}", open ? "below" : "at most", *high);
    return {};
  }
  template <class T>
  [[nodiscard]] Node show(const T& value) const {
    return Plain<T>{}.show(value);
  }

 private:
  template <class X, class Y>
  static bool less(X x, Y y) {
    if constexpr (std::is_integral_v<X> && std::is_integral_v<Y>) {
      return std::cmp_less(x, y);
    } else {
      return static_cast<double>(x) < static_cast<double>(y);
    }
  }
};

template <class B>
Interval<B> open_interval(B low, B high) {
  return {low, high, true};
}
template <class B>
Interval<B> closed_interval(B low, B high) {
  return {low, high, false};
}
template <class B>
Interval<B> at_least(B low) {
  return {low, std::nullopt, false};
}
template <class B>
Interval<B> at_most(B high) {
  return {std::nullopt, high, false};
}
template <class B>
Interval<B> above(B low) {
  return {low, std::nullopt, true};
}

/// Numbers with units, see units.h: durations into seconds, shares into fractions, sizes into
/// bytes.
enum class UnitKind { seconds, share, bytes };
template <class T, UnitKind kind>
struct WithUnit {
  Interval<T> interval;

  bool read(const Node& node, T& out, Problems& problems) const {
    return interval.read_as(Bare{}, node, out, problems);
  }
  [[nodiscard]] std::string type() const { return Bare::name(); }
  [[nodiscard]] std::string range() const { return interval.range(); }
  [[nodiscard]] Node show(const T& value) const {
    if constexpr (kind == UnitKind::seconds) return Node::scalar(fmt::format("{}s", value), false);
    return Node::of(value);
  }

 private:
  struct Bare {
    bool read(const Node& node, T& out, Problems& problems) const;
    static std::string name();
  };
};
using Seconds = WithUnit<double, UnitKind::seconds>;
using Share = WithUnit<double, UnitKind::share>;
using Bytes = WithUnit<std::uint64_t, UnitKind::bytes>;
extern template struct WithUnit<double, UnitKind::seconds>;
extern template struct WithUnit<double, UnitKind::share>;
extern template struct WithUnit<std::uint64_t, UnitKind::bytes>;

inline Seconds seconds(Interval<double> interval = {}) {
  return {interval};
}
inline Share share(Interval<double> interval = {}) {
  return {interval};
}
inline Bytes bytes(Interval<std::uint64_t> interval = {}) {
  return {interval};
}

/// "is not one of a, b", with the nearest where there is one.
std::string not_one_of(std::string_view text, const std::vector<std::string>& accepted);

/// An enum by its names: names<Mode>({{"fast", Mode::fast}, {"exact", Mode::exact}}).
template <class E>
struct Names {
  std::vector<std::pair<std::string, E>> table;

  bool read(const Node& node, E& out, Problems& problems) const {
    for (const auto& [name, value] : table) {
      if (node.is_scalar() && node.text() == name) {
        out = value;
        return true;
      }
    }
    problems.add_value(node, not_one_of(node.text(), accepted()));
    return false;
  }
  [[nodiscard]] std::string type() const { return "name"; }
  [[nodiscard]] std::string range() const { return "one of " + join(accepted()); }
  [[nodiscard]] Node show(const E& value) const {
    for (const auto& [name, candidate] : table) {
      if (candidate == value) return Node::of(std::string_view(name));
    }
    return {};
  }

 private:
  [[nodiscard]] std::vector<std::string> accepted() const {
    std::vector<std::string> accepted;
    for (const auto& entry : table)
      accepted.push_back(entry.first);
    return accepted;
  }
};
template <class E>
Names<E> names(std::vector<std::pair<std::string, E>> table) {
  return {std::move(table)};
}
inline Names<std::string> one_of(const std::vector<std::string>& accepted) {
  Names<std::string> format;
  for (const std::string& name : accepted)
    format.table.emplace_back(name, name);
  return format;
}

template <class Format>
ListOf<Format> list_of(Format format, std::size_t min_count = 0) {
  return {std::move(format), min_count};
}

}  // namespace sluice::config
