// sluice/cli/commands.cpp - the list of commands.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"

namespace sluice::cli {

void add_all_commands(CLI::App& root, Context& context) {
  (void)root;
  (void)context;
}

}  // namespace sluice::cli
