// sluice/visit/loader/request.cpp - a request as the flags that give it again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/request.h"

#include <fmt/format.h>

namespace sluice::visit {

std::string loader_flags_text(const LoaderRequest& request) {
  std::string text = fmt::format("--batch-size {} --num-workers {} --prefetch {}",
                                 request.batch_size, request.workers, request.prefetch);
  if (request.pin_memory) text += " --pin-memory";
  if (!request.persistent_workers) text += " --no-persistent-workers";
  if (!request.cache_dir.empty()) text += " --cache-dir " + request.cache_dir;
  if (request.bundling)
    text += fmt::format(" --enable-bundling --bundle-size-gb {:g}", request.bundle_size_gb);
  return text;
}

}  // namespace sluice::visit
