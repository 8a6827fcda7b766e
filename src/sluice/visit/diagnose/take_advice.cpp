// sluice/visit/diagnose/take_advice.cpp - one case per kind of advice.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/diagnose/take_advice.h"

#include "sluice/core/thread_pool.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/data/shrink.h"
#include "sluice/storage/format/bundle_writer.h"

namespace sluice::visit {
namespace {

/// Reads every sample once, so that the cache holds it.
Status fill_cache(const LoaderRequest& loader, const std::function<bool()>& stop,
                  Progress& progress) {
  SLUICE_TRY(const scenario::LoaderInput input, open_input(loader, loader.cache_dir));
  auto bar = progress.bar("cache", input.dataset->size(), "samples");
  storage::ReadBuffer buffer;
  for (std::uint64_t i = 0; i < input.dataset->size(); ++i) {
    if (stop()) return Error{Errc::interrupted, "interrupted"};
    SLUICE_CHECK(input.dataset->read(i, buffer));
    bar.add();
  }
  return ok;
}

}  // namespace

Result<DiagnosePlan> with_advice(const DiagnosePlan& plan, const results::Advice& advice,
                                 const std::filesystem::path& scratch,
                                 const std::function<bool()>& stop, Progress& progress) {
  DiagnosePlan changed = plan;
  LoaderRequest& loader = changed.loader;
  switch (advice.kind) {
    case results::AdviceKind::decode_scaled:
      loader.decode_scaled = true;
      break;
    case results::AdviceKind::smaller_images: {
      SLUICE_TRY(const scenario::LoaderInput input, open_input(loader, loader.cache_dir));
      loader::ShrinkPlan shrink;
      shrink.out = scratch / "smaller";
      shrink.image.shorter_side = advice.number;
      shrink.threads = usable_cores();
      shrink.stop = stop;
      SLUICE_CHECK(loader::shrink_images(*input.dataset, shrink, progress));
      loader.input = shrink.out.string();
      loader.remote = false;
      break;
    }
    case results::AdviceKind::more_workers:
      loader.workers = advice.number;
      break;
    case results::AdviceKind::cache:
      loader.cache_dir = (scratch / "cache").string();
      SLUICE_CHECK(fill_cache(loader, stop, progress));
      break;
    case results::AdviceKind::buffered:
      loader.read_mode = "buffered";
      break;
    case results::AdviceKind::bundle: {
      SLUICE_TRY(const scenario::LoaderInput input, open_input(loader, loader.cache_dir));
      storage::BundleOptions options;
      options.out = scratch / "bundles";
      options.wanted = [](const storage::Object& object) {
        return loader::is_image_key(object.key);
      };
      options.stop = stop;
      SLUICE_CHECK(storage::write_bundles(*input.store, options, progress));
      loader.input = options.out.string();
      break;
    }
    case results::AdviceKind::pin_memory:
      loader.pin_memory = true;
      break;
    case results::AdviceKind::upload_bytes:
      loader.upload = changed.handed = train::PixelType::u8;
      break;
  }
  return changed;
}

}  // namespace sluice::visit
