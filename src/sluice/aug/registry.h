// sluice/aug/registry.h - every transform, by name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"

#include <memory>
#include <string_view>
#include <vector>

namespace sluice::aug {

const std::vector<TransformSpec>& registry();
/// Null when there is none of that name.
const TransformSpec* find(std::string_view name);
/// An unknown name is an error that gives the nearest known one.
Result<std::unique_ptr<Transform>> make(std::string_view name, const Json& parameters);

}  // namespace sluice::aug
