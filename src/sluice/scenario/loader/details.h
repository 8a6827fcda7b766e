// sluice/scenario/loader/details.h - what a loader counted between two moments, for the result
// file (docs/dataloader.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/loader/accounting.h"

#include <cstdint>
#include <span>

namespace sluice::scenario {

/// Totals of a loader and its store at one moment.
struct LoaderMoment {
  std::int64_t at_ns = 0;
  loader::LoaderStats stats;
  Json store;  // counters
};

/// What was added from `before` to `after`. `batch_ns` are the times of its batches, in order.
Json loader_details(const LoaderMoment& before, const LoaderMoment& after,
                    std::span<const std::int64_t> batch_ns);

/// Counts of `after` less those of `before`, by name and through nested objects; what is no count
/// stays as it is in `after`.
Json counters_between(const Json& before, const Json& after);

/// RssAnon of this process; nothing where /proc does not tell.
std::int64_t anonymous_bytes();
std::int64_t resident_bytes();
/// Pages that this process touched for the first time since it started, in bytes: what it took
/// anew, or mapped of a file.
std::int64_t touched_bytes();

}  // namespace sluice::scenario
