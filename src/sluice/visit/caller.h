// sluice/visit/caller.h - who asks for a visit: where it writes, and what its record says of that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::visit {

struct Caller {
  std::filesystem::path out;  // run folder; empty: the default of the visit
  std::uint64_t seed = 0;
  bool seed_given = false;
  bool quiet = false;             // nothing on stderr but what went wrong
  std::vector<std::string> argv;  // as typed, the program included
  Progress* progress = &Progress::silent();
};

}  // namespace sluice::visit
