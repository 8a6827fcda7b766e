// sluice/scenario/loader/spec.h - what a loader row reads and how: the spec of `prepare`, opened.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"
#include "sluice/loader/gpu/device_feed.h"
#include "sluice/loader/gpu/router.h"
#include "sluice/loader/loader.h"
#include "sluice/measure/worker/subject.h"
#include "sluice/storage/object_store.h"
#include "sluice/train/sent_images.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace sluice::scenario {

inline constexpr std::int64_t kMaxBatch = 65'536;  // samples, of a loader and of a trainer

/// Every field of the spec, docs/dataloader.md. Credentials are none of them: they come from the
/// environment.
struct LoaderSpec {
  std::string input;  // folder or URI; empty: the folder of `load`
  std::string endpoint, region;
  bool anonymous = false;
  std::string cache_dir;
  std::string read_mode = "buffered";
  std::uint32_t batch_size = 256;
  int workers = 2;
  int prefetch = 2;
  std::uint64_t epoch_items = 0;  // 0: all
  bool spread = false;            // epoch_items spread over the data, not the first ones
  std::uint64_t seed = 0;
  double step_ms = 0;          // what the consumer does with a batch; 0: nothing
  std::string device = "cpu";  // or "cuda:N": where batches are to arrive
  train::PixelType upload = train::PixelType::u8;  // how they travel to a GPU
  bool three_augment = false;  // the recipe of a training; else rrc224, antialiased
  bool clips = false;          // the input may be a folder of videos
  bool decode_scaled = false;  // JPEGs at the smallest scale that fills the crop; not exact
  double random_erasing = 0;   // probability that an image is erased in part
  loader::gpu::LanePolicy lanes = loader::gpu::LanePolicy::cpu;  // who decodes for a GPU
  bool pin_memory = false;  // of a GPU: true unless asked otherwise
  bool persistent_workers = true;
  bool skip_errors = false;
  bool first_epoch = false;  // a pass is `pass_batches` from the start, nothing touched before
  bool drop_cache = false;   // of the system, before a sample
  std::uint64_t pass_batches = 1;
  std::string trace;  // file to write; empty: none
  // Of a world of ranks and of a model of text, by whoever knows it; no fields of the spec.
  std::uint32_t rank = 0, ranks = 1;  // that share an epoch
  std::uint32_t sequence = 0;         // tokens of a sample; 0: the input is images or arrays
  std::uint32_t vocabulary = 0;       // every id is looked at when opened; 0: none is
};

/// Slots of the ring for so many batches ahead: beside them the batch in use, and on its way to a
/// GPU also the one before it.
int slots_of(int prefetch, bool to_gpu);

/// Slots of the ring, and pinned memory for them where that is asked for.
void set_slots(loader::LoaderOptions& options, const LoaderSpec& spec);

/// The feed of `lanes` for the spec's recipe, as u8; `options` as for a Loader. `shared`: a
/// training runs on the same device.
Result<std::unique_ptr<loader::gpu::DeviceFeed>> make_lanes(
    std::shared_ptr<const loader::Dataset> dataset, const LoaderSpec& spec,
    const loader::LoaderOptions& options, int side, bool shared);

/// Unknown fields are ignored, wrong types and values out of range are usage errors.
Result<LoaderSpec> read_loader_spec(const measure::SubjectContext& context);

/// A dataset, and the store below it.
struct LoaderInput {
  std::shared_ptr<storage::ObjectStore> store;
  std::shared_ptr<const loader::Dataset> dataset;
  std::filesystem::path folder;  // where the objects of the store lie; empty: not on this machine
  std::int64_t open_ns = 0;      // to list and open it
  std::uint64_t all_items = 0;   // before epoch_items
};
Result<LoaderInput> open_loader_input(const LoaderSpec& spec);

/// By the case: "loader/rrc224", "loader/rrc224-antialias", "loader/three-augment",
/// "loader/clip16-antialias" or "loader/raw". How it decodes and erases is the spec's. `upload`: as
/// it travels to a GPU; nothing: as it is read on this side, f32.
Result<std::shared_ptr<const loader::Recipe>> recipe_of(
    const std::string& case_name, const loader::Dataset& dataset, const LoaderSpec& spec,
    std::optional<train::PixelType> upload = std::nullopt);
/// The whole central square, u8 HWC: what is compared with other libraries. `unsupported` for raw
/// arrays.
Result<std::shared_ptr<const loader::Recipe>> fixed_recipe_of(const std::string& case_name);

}  // namespace sluice::scenario
