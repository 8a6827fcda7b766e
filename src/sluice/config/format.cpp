// sluice/config/format.cpp - scalars to values; quoted text is never a number.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/format.h"

#include "sluice/config/units.h"

namespace sluice::config {
namespace {

bool refuse(const Node& node, std::string_view what, Problems& problems) {
  problems.add_value(node, what);
  return false;
}

/// Reads an unquoted scalar with one of the parsers of units.h.
template <class T, class Parse>
bool read_unquoted(const Node& node, T& out, Parse parse, std::string_view what,
                   Problems& problems) {
  if (node.is_scalar() && !node.is_text()) {
    if (const auto value = parse(node.text())) {
      out = *value;
      return true;
    }
  }
  const std::string quoted = node.is_scalar() && node.is_text() ? " (it is quoted text)" : "";
  return refuse(node, fmt::format("is not {}{}", what, quoted), problems);
}

}  // namespace

bool read_value(const Node& node, bool& out, Problems& problems) {
  const bool is_bool =
      node.is_scalar() && !node.is_text() && (node.text() == "true" || node.text() == "false");
  if (!is_bool) return refuse(node, "is not true or false", problems);
  out = node.text() == "true";
  return true;
}

bool read_value(const Node& node, std::int64_t& out, Problems& problems) {
  return read_unquoted(node, out, parse_integer, "a whole number", problems);
}

bool read_value(const Node& node, std::uint64_t& out, Problems& problems) {
  return read_unquoted(node, out, parse_unsigned, "a whole number of at least 0", problems);
}

bool read_value(const Node& node, double& out, Problems& problems) {
  return read_unquoted(node, out, parse_number, "a number", problems);
}

bool read_value(const Node& node, std::string& out, Problems& problems) {
  if (!node.is_scalar()) return refuse(node, "is not text", problems);
  out = node.text();
  return true;
}

template <class T, UnitKind kind>
bool WithUnit<T, kind>::Bare::read(const Node& node, T& out, Problems& problems) const {
  // Quotes are fine here: "5%" is text to YAML either way.
  if (!node.is_scalar()) return refuse(node, "is not " + name(), problems);
  const auto parsed = [&] {
    if constexpr (kind == UnitKind::seconds) {
      return parse_seconds(node.text());
    } else if constexpr (kind == UnitKind::share) {
      return parse_share(node.text());
    } else {
      return parse_bytes(node.text());
    }
  }();
  if (!parsed) return refuse(node, "is not " + name(), problems);
  out = *parsed;
  return true;
}

template <class T, UnitKind kind>
std::string WithUnit<T, kind>::Bare::name() {
  switch (kind) {
    case UnitKind::seconds:
      return "a duration (such as 250ms, 5s, 2min)";
    case UnitKind::share:
      return "a share (such as 5% or 0.05)";
    case UnitKind::bytes:
      break;
  }
  return "a size in whole bytes (such as 512, 64KiB, 2GiB)";
}

template struct WithUnit<double, UnitKind::seconds>;
template struct WithUnit<double, UnitKind::share>;
template struct WithUnit<std::uint64_t, UnitKind::bytes>;

std::string not_one_of(std::string_view text, const std::vector<std::string>& accepted) {
  std::string what = "is not one of " + join(accepted);
  if (const auto near = nearest(text, accepted)) what += fmt::format(" (nearest: '{}')", *near);
  return what;
}

}  // namespace sluice::config
