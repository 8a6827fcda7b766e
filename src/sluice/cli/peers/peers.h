// sluice/cli/peers/peers.h - the parts of `sluice peers` (private to the room).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// What a user may name: groups, then libraries; one that is both, once.
std::vector<std::string> groups_and_libraries();

void add_peers_audit(CLI::App& peers, Context& context);
void add_peers_check(CLI::App& peers, Context& context);

}  // namespace sluice::cli
