// sluice/config/from_json.h - a JSON document as a Node, for writing it as YAML.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/node.h"
#include "sluice/core/json.h"

namespace sluice::config {

/// Null becomes the empty Node.
Node from_json(const Json& json);

}  // namespace sluice::config
