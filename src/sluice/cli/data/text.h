// sluice/cli/data/text.h - tokens of a text in `data make` and `data info`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

#include <cstdint>
#include <filesystem>

namespace sluice::cli {

struct TextFlags {
  std::uint64_t tokens = 0;
  std::uint64_t vocabulary = 4096;
  std::uint64_t shards = 1;
};

void add_text_flags(CLI::App& make, TextFlags& flags);
Result<ExitCode> make_text(const TextFlags& flags, bool force, const Context& context);

/// A tokens.json lies in the folder `path`.
bool holds_tokens(const std::filesystem::path& path);
/// Reads every token: an id beyond the vocabulary is an Error.
Result<ExitCode> info_tokens(const std::filesystem::path& path, const Context& context);

}  // namespace sluice::cli
