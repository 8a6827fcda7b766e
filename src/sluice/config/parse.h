// sluice/config/parse.h - YAML text to a Node, within limits that a hostile file cannot pass.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/node.h"
#include "sluice/core/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace sluice::config {

/// What one document may hold. Aliases are copied, so each copy counts.
inline constexpr std::uint64_t kMaxFileBytes = 4 << 20;
inline constexpr std::size_t kMaxNodes = 100'000;
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxKeyBytes =
    200;  // yaml-cpp reads a key of at most 1024 bytes, escapes included

/// One YAML document in UTF-8; `name` is what errors call it. An empty document is an empty map.
/// Refused: more than one document, tags, keys that are no scalars. Duplicate keys stay in the
/// tree: Reader reports them together with everything else that is wrong.
Result<Node> parse(std::string_view text, std::string_view name);

Result<Node> load(const std::filesystem::path& path);

}  // namespace sluice::config
