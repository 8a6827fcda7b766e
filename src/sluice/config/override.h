// sluice/config/override.h - `--set key.path=value` applied to a document before it is read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/node.h"
#include "sluice/core/result.h"

#include <string_view>

namespace sluice::config {

/// `assignment` is "gate.min_change=2%", "jobs[0].workers=4" or "libraries=[opencv, pillow]": the
/// value is YAML on one line. Sections that are not there are made; a list element must exist.
/// Whether the key means anything is found when the document is read; that error then names the
/// flag instead of a line.
Status apply_override(Node& root, std::string_view assignment, std::string_view flag = "--set");

}  // namespace sluice::config
