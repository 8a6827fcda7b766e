// sluice/env/host.h - which machine this is among machines that are alike, without its name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/system_root.h"

#include <string>

namespace sluice::env {

/// 12 hexadecimal digits over the id and the host name of the machine: the same every time on one
/// node, another on its twin, and no name can be read from it. Empty: neither is known.
std::string host_hash(const SystemRoot& root);

}  // namespace sluice::env
