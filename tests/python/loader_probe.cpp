// tests/python/loader_probe.cpp - batches as the C++ loader makes them, as digests: what Python
// must give too.
// SPDX-License-Identifier: Apache-2.0
//
// usage: loader_probe FOLDER RECIPE BATCH SEED EPOCH     RECIPE: imagenet-train, three-augment,
// centre-u8-hwc A line per batch: SHA-256 of its pixels, of its labels, of its indices.
#include "sluice/core/sha256.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/recipe/three_augment.h"
#include "sluice/loader/recipe/train_crop.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace sluice;  // NOLINT(google-build-using-namespace)

Result<std::shared_ptr<const loader::Recipe>> recipe_called(const std::string& name) {
  if (name == "three-augment") return loader::make_three_augment({.side = 48});
  loader::TrainCropOptions options;
  options.side = 48;
  options.filter = loader::Filter::antialias;
  if (name == "centre-u8-hwc") {
    options.crop = loader::CropMode::centre;
    options.type = loader::BatchType::u8;
    options.layout = loader::Layout::hwc;
  }
  return loader::make_train_crop(options);
}

Status print_epoch(char** words) {
  SLUICE_TRY(auto store, storage::open_store({.input = words[1]}));
  SLUICE_TRY(auto dataset, loader::open_dataset(std::move(store), {}));
  SLUICE_TRY(auto recipe, recipe_called(words[2]));
  loader::LoaderOptions options;
  options.batch_size = static_cast<std::uint32_t>(std::stoul(words[3]));
  options.seed = std::stoull(words[4]);
  options.workers = 2;
  options.drop_last = false;
  SLUICE_TRY(const auto batches, loader::Loader::make(dataset, recipe, options));
  SLUICE_CHECK(batches->start_epoch(std::stoull(words[5])));
  for (;;) {
    SLUICE_TRY(const auto batch, batches->next());
    if (!batch) return ok;
    const auto pixels = batch->data().first(batch->size() * batch->spec().bytes());
    fmt::print("{} {} {}\n", sha256_hex(pixels), sha256_hex(std::as_bytes(batch->labels())),
               sha256_hex(std::as_bytes(batch->indices())));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  const sluice::Status done = print_epoch(words);
  if (!done) fmt::print(stderr, "{}\n", done.error().message);
  return done ? 0 : 1;
}
