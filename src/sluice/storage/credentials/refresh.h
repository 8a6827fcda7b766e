// sluice/storage/credentials/refresh.h - credentials kept until shortly before they expire.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/credentials/credentials.h"

#include <chrono>
#include <functional>
#include <memory>

namespace sluice::storage {

/// Calls `fetch`, one thread at a time, when there is nothing yet, when what there is was refused,
/// and from 5 minutes before it expires on; while one thread fetches, others go on with what is
/// still good. A fetch that fails is not repeated for 30 s: its Error is, or what is still good.
std::shared_ptr<CredentialSource> refreshing_credentials(
    std::function<Result<Credentials>()> fetch,
    std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now);

}  // namespace sluice::storage
