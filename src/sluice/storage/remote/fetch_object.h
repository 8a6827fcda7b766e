// sluice/storage/remote/fetch_object.h - one large object, read in parts side by side.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/object_store.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace sluice::storage {

struct FetchOptions {
  int streams = 8;  // requests at the same time; 1 to 256
  /// Of one request, at least 4096; one more than there are streams lie in memory. 0: 8 MiB or,
  /// with few streams, as much more as makes 64 MiB of all: the fewer, the more a first byte costs.
  std::size_t range_bytes = 0;
};

/// Takes a part. Called from several threads at the same time, in no order; every byte once.
using FetchSink = std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)>;

/// While a part is taken the next one is on its way. The first Error, of the store or of the sink,
/// ends all streams and is returned.
Status fetch_object(ObjectStore& store, const Object& object, const FetchSink& sink,
                    const FetchOptions& options = {});

}  // namespace sluice::storage
