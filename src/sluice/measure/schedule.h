// sluice/measure/schedule.h - what whoever takes turns with workers does alike, whether they live
// for a block or for many cases.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/core/rng.h"
#include "sluice/measure/messages.h"
#include "sluice/measure/policy.h"
#include "sluice/measure/record.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::measure {

/// 0 to n - 1 in the order of `key`.
std::vector<std::size_t> shuffled(std::size_t n, const RngKey& key);
/// Bytes by which an environment is made larger, so that luck of layout is noise.
std::size_t padding_bytes(const RngKey& key);

/// A run to be, in process `pid`.
Run new_run(const std::string& session_id, const Row& row, int block, std::int64_t pid);

/// Results before times: the digest becomes that of the row, or must be the same. `between`: what
/// differs otherwise, "runs".
Status keep_digest(Row& row, const std::string& digest, const char* between);
/// True: an item takes longer than the policy allows, and the row says so, early-stopped.
bool stopped_early(Row& row, std::int64_t pass_ns, std::int64_t items, const Policy& policy);
/// Items of a sample; an Error when they cannot be counted.
Result<std::int64_t> items_per_sample(std::int64_t items_per_pass, std::int64_t passes);
/// An Error when more than `limit` cores were busy on average.
Status hold_thread_policy(const Row& row, double limit);
/// The row carries `error`: unsupported, or failed for any other reason.
void fail(Row& row, const Error& error);

}  // namespace sluice::measure
