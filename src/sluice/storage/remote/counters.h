// sluice/storage/remote/counters.h - what a remote store has done so far.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/storage/remote/latency.h"
#include "sluice/storage/remote/retry.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace sluice::storage {

/// Thread-safe; each is read on its own, so that sums may be off by what is under way.
struct RemoteCounters {
  using Count = std::atomic<std::uint64_t>;
  Count requests{0};  // of every kind, attempts and hedges included
  Count reads{0};     // calls of read() that went well
  Count bytes{0};     // received and wanted
  Count bytes_wasted{0};
  Count connections{0};
  Count hedges{0};
  Count hedges_won{0};
  Count failures{0};  // calls that ended in an Error
  std::array<Count, kRetryCauses> retries{};
  LatencyHistogram first_byte;  // of ranged GETs that went well
  LatencyHistogram total;

  [[nodiscard]] Json json() const;
};

}  // namespace sluice::storage
