// sluice/cli/reference.h - docs/cli.md, made from the command tree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

#include <string>

namespace sluice::cli {

/// Every command with its arguments, flags, defaults and examples; the common flags once.
std::string markdown_reference(const CLI::App& root);

}  // namespace sluice::cli
