// sluice/env/build_info.h - how this library was built.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/environment.h"

namespace sluice::env {

/// Compiler, flags, Highway and commit: fixed when the library was compiled, except for Highway's
/// target, which is the best one this CPU can run.
Build build_info();

}  // namespace sluice::env
