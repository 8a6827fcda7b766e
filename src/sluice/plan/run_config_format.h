// sluice/plan/run_config_format.h - formats that only the run configuration needs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/format.h"
#include "sluice/plan/run_config.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::plan {

/// A value by `format`, or null.
template <class Format>
struct OrNull {
  Format format;

  template <class T>
  bool read(const config::Node& node, std::optional<T>& out, config::Problems& problems) const {
    if (node.is_null()) {
      out = std::nullopt;
      return true;
    }
    T value{};
    if (!format.read(node, value, problems)) return false;
    out = std::move(value);
    return true;
  }
  [[nodiscard]] std::string type() const { return format.type() + " or null"; }
  [[nodiscard]] std::string range() const { return format.range(); }
  template <class T>
  [[nodiscard]] config::Node show(const std::optional<T>& value) const {
    return value ? format.show(*value) : config::Node();
  }
};
template <class Format>
OrNull<Format> or_null(Format format) {
  return {std::move(format)};
}

/// A map from the name of a worker to its command: text, or a list of program and arguments.
struct PeerMap {
  bool read(const config::Node& node, std::vector<Peer>& out, config::Problems& problems) const;
  [[nodiscard]] std::string type() const { return "map of name to command"; }
  [[nodiscard]] std::string range() const { return {}; }
  [[nodiscard]] config::Node show(const std::vector<Peer>& peers) const;
};

}  // namespace sluice::plan
