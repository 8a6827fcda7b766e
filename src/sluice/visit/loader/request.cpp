// sluice/visit/loader/request.cpp - a request as the flags that give it again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/request.h"

#include "sluice/scenario/loader/outbox.h"

#include <fmt/format.h>

namespace sluice::visit {

std::string loader_flags_text(const LoaderRequest& request) {
  std::string text = fmt::format("--batch-size {} --num-workers {} --prefetch {}",
                                 request.batch_size, request.workers, request.prefetch);
  if (request.pin_memory != (request.gpu_index >= 0))
    text += request.pin_memory ? " --pin-memory" : " --no-pin-memory";
  if (request.upload != train::PixelType::u8)
    text += fmt::format(" --upload {}", scenario::to_string(request.upload));
  if (request.three_augment) text += " --recipe three-augment";
  if (request.decode_scaled) text += " --decode scaled";
  if (request.random_erasing > 0)
    text += fmt::format(" --random-erasing {:g}", request.random_erasing);
  if (request.lanes != loader::gpu::LanePolicy::cpu)
    text += fmt::format(" --loader {}", to_string(request.lanes));
  if (!request.persistent_workers) text += " --no-persistent-workers";
  if (!request.cache_dir.empty()) text += " --cache-dir " + request.cache_dir;
  if (request.bundling)
    text += fmt::format(" --enable-bundling --bundle-size-gb {:g}", request.bundle_size_gb);
  return text;
}

}  // namespace sluice::visit
