// sluice/config/emit.h - a Node as YAML text that reads back as the same Node.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/node.h"

#include <string>

namespace sluice::config {

/// Block style, two spaces, a final newline. Text is quoted wherever a reader could take it for
/// something else; bytes that are not UTF-8 become U+FFFD.
std::string to_yaml(const Node& node);

/// The same on one line, lists and maps in brackets: for messages and tables.
std::string to_yaml_line(const Node& node);

}  // namespace sluice::config
