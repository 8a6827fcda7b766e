// sluice/scenario/loader/spec.cpp - store, cache, dataset and recipe of a loader row.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/spec.h"

#include "sluice/core/clock.h"
#include "sluice/core/text.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/recipe/clip_crop.h"
#include "sluice/loader/recipe/recipes.h"
#include "sluice/loader/recipe/three_augment.h"
#include "sluice/loader/recipe/train_crop.h"
#include "sluice/loader/tokens/token_dataset.h"
#include "sluice/measure/worker/reply.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/scenario/loader/subset_dataset.h"
#include "sluice/storage/open_store.h"
#include "sluice/train/cuda/library.h"

#include <fmt/format.h>

namespace sluice::scenario {
namespace {

constexpr double kMaxStepMs = 600'000;
constexpr std::string_view kClipKind = "clip16-antialias";

Result<std::shared_ptr<storage::ObjectStore>> open_place(const LoaderSpec& spec) {
  storage::StoreOptions options = storage::store_options(spec.input, spec);
  SLUICE_TRY(options.read_mode, storage::parse_read_mode(spec.read_mode));
  if (spec.sequence > 0 && options.read_mode == storage::ReadMode::buffered)
    options.read_mode = storage::ReadMode::mmap;  // small parts of large files
  return storage::open_store(options);
}

Result<std::shared_ptr<const loader::Dataset>> open_text(
    std::shared_ptr<storage::ObjectStore> store, const LoaderSpec& spec) {
  SLUICE_TRY(auto text, loader::TokenDataset::open(std::move(store), spec.sequence));
  if (spec.vocabulary > 0 && !spec.skip_errors) SLUICE_CHECK(text->check_ids(spec.vocabulary));
  return std::shared_ptr<const loader::Dataset>(std::move(text));
}

/// The part of a case name that says what is done: "rrc224" of "loader/rrc224/step_ms=3".
std::string kind_of(const std::string& case_name) {
  const std::vector<std::string> parts = split(case_name, '/');
  return parts.size() > 1 ? parts[1] : std::string();
}

Result<loader::Filter> filter_of(const std::string& case_name) {
  const std::string kind = kind_of(case_name);
  if (kind == "rrc224") return loader::Filter::plain;
  if (kind == "rrc224-antialias" || kind == kClipKind || kind == "three-augment")
    return loader::Filter::antialias;
  return Error{Errc::unsupported, fmt::format("sluice has no case '{}'", printable(case_name))};
}

}  // namespace

Result<LoaderSpec> read_loader_spec(const measure::SubjectContext& context) {
  const Json json = context.spec.is_object() ? context.spec : Json::object();
  const measure::Reply fields("spec", json);
  LoaderSpec spec;
  // One thread is the consumer's own: a worker beside it would be a second.
  spec.workers = context.threads == 1 ? 0 : context.threads;
  spec.seed = context.seed;
  if (context.spec.is_null()) spec.batch_size = 16;
  SLUICE_TRY(spec.input, fields.text("input", context.data_dir.string()));
  SLUICE_TRY(spec.endpoint, fields.text("endpoint", ""));
  SLUICE_TRY(spec.region, fields.text("region", ""));
  SLUICE_TRY(spec.anonymous, fields.boolean("anonymous", false));
  SLUICE_TRY(spec.cache_dir, fields.text("cache_dir", ""));
  SLUICE_TRY(spec.read_mode, fields.text("read_mode", "buffered"));
  SLUICE_TRY(const auto batch, fields.integer("batch_size", 1, kMaxBatch, spec.batch_size));
  spec.batch_size = static_cast<std::uint32_t>(batch);
  SLUICE_TRY(const auto workers,
             fields.integer("workers", 0, loader::Loader::kMaxWorkers, spec.workers));
  spec.workers = static_cast<int>(workers);
  SLUICE_TRY(const auto prefetch,
             fields.integer("prefetch", 1, loader::Loader::kMaxPrefetch - 1, spec.prefetch));
  spec.prefetch = static_cast<int>(prefetch);
  SLUICE_TRY(const auto items, fields.integer("epoch_items", 0, std::int64_t{1} << 40, 0));
  spec.epoch_items = static_cast<std::uint64_t>(items);
  SLUICE_TRY(spec.spread, fields.boolean("spread", false));
  SLUICE_TRY(const auto seed, fields.integer("seed", 0, std::numeric_limits<std::int64_t>::max(),
                                             static_cast<std::int64_t>(spec.seed >> 1U)));
  spec.seed = static_cast<std::uint64_t>(seed);
  SLUICE_TRY(spec.step_ms, fields.number("step_ms", 0));
  if (spec.step_ms > kMaxStepMs) return fields.wrong("step_ms", "at most ten minutes");
  SLUICE_TRY(spec.device, fields.text("device", "cpu"));
  SLUICE_TRY(const std::string upload, fields.text("upload", "uint8"));
  const auto type = parse_upload(upload);
  if (!type) return fields.wrong("upload", "uint8, fp16 or fp32");
  spec.upload = *type;
  SLUICE_TRY(const std::string recipe, fields.text("recipe", "rrc224"));
  spec.three_augment = recipe == "three-augment";
  if (!spec.three_augment && recipe != "rrc224")
    return fields.wrong("recipe", "rrc224 or three-augment");
  SLUICE_TRY(spec.clips, fields.boolean("clips", false));
  SLUICE_TRY(const std::string decode, fields.text("decode", "exact"));
  spec.decode_scaled = decode == "scaled";
  if (!spec.decode_scaled && decode != "exact") return fields.wrong("decode", "exact or scaled");
  SLUICE_TRY(spec.random_erasing, fields.number("random_erasing", 0));
  if (spec.random_erasing > 1) return fields.wrong("random_erasing", "from 0 to 1");
  SLUICE_TRY(const std::string lanes, fields.text("loader", "cpu"));
  const auto policy = loader::gpu::lane_policy(lanes);
  if (!policy) return fields.wrong("loader", "cpu, gpu or hybrid");
  spec.lanes = *policy;
  if (spec.lanes != loader::gpu::LanePolicy::cpu && spec.upload != train::PixelType::u8)
    return fields.wrong("upload", "uint8, where the GPU decodes");
  SLUICE_TRY(spec.pin_memory, fields.boolean("pin_memory", spec.device != "cpu"));
  SLUICE_TRY(spec.persistent_workers, fields.boolean("persistent_workers", true));
  SLUICE_TRY(spec.skip_errors, fields.boolean("skip_errors", false));
  SLUICE_TRY(spec.first_epoch, fields.boolean("first_epoch", false));
  SLUICE_TRY(spec.drop_cache, fields.boolean("drop_cache", false));
  SLUICE_TRY(const auto pass, fields.integer("pass_batches", 1, std::int64_t{1} << 32, 1));
  spec.pass_batches = static_cast<std::uint64_t>(pass);
  SLUICE_TRY(spec.trace, fields.text("trace", ""));
  return spec;
}

int slots_of(int prefetch, bool to_gpu) {
  return prefetch + (to_gpu ? 2 : 1);
}

void set_slots(loader::LoaderOptions& options, const LoaderSpec& spec) {
  options.prefetch = slots_of(spec.prefetch, spec.device != "cpu");
  options.pin_memory = spec.pin_memory;
  if (!spec.pin_memory) return;
  if (const auto index = train::cuda::device_index(spec.device))
    options.pinned_allocator = pinned_for(*index);
}

Result<std::unique_ptr<loader::gpu::DeviceFeed>> make_lanes(
    std::shared_ptr<const loader::Dataset> dataset, const LoaderSpec& spec,
    const loader::LoaderOptions& options, int side, bool shared) {
  loader::gpu::DeviceFeedOptions made;
  made.shared = shared;
  made.loader = options;
  made.loader.pin_memory = true;
  made.loader.pinned_allocator = nullptr;  // the line's own
  made.recipe.side = side;
  made.recipe.erasing.probability = spec.random_erasing;
  made.recipe.type = loader::BatchType::u8;
  made.recipe.layout = loader::Layout::hwc;
  made.policy = spec.lanes;
  made.buffers = 4;  // in use, two ready, one being made
  made.augment = spec.three_augment ? loader::gpu::Augment::fused : loader::gpu::Augment::none;
  SLUICE_TRY(made.device, train::cuda::device_index(spec.device));
  return loader::gpu::DeviceFeed::make(std::move(dataset), made);
}

Result<LoaderInput> open_loader_input(const LoaderSpec& spec) {
  SystemClock clock;
  const std::int64_t start_ns = clock.now_ns();
  LoaderInput input;
  SLUICE_TRY(input.store, open_place(spec));
  if (spec.input.find("://") == std::string::npos) input.folder = spec.input;
  SLUICE_TRY(input.dataset,
             spec.sequence > 0
                 ? open_text(input.store, spec)
                 : loader::open_dataset(input.store, {.clips = spec.clips, .sizes = true}));
  input.open_ns = clock.now_ns() - start_ns;
  input.all_items = input.dataset->size();
  if (spec.epoch_items > 0 && spec.epoch_items < input.all_items)
    input.dataset = std::make_shared<SubsetDataset>(input.dataset, spec.epoch_items, spec.spread);
  return input;
}

Result<std::shared_ptr<const loader::Recipe>> recipe_of(const std::string& case_name,
                                                        const loader::Dataset& dataset,
                                                        const LoaderSpec& spec,
                                                        std::optional<train::PixelType> upload) {
  if (kind_of(case_name) == "raw") {
    storage::ReadBuffer buffer;
    SLUICE_TRY(const auto bytes, dataset.read(0, buffer));
    SLUICE_TRY(const auto output, loader::array_output(bytes));
    return loader::make_array(output);
  }
  if (kind_of(case_name) == "three-augment") {
    loader::ThreeAugmentOptions options;
    options.erasing.probability = spec.random_erasing;
    if (upload) {
      options.type = batch_type(*upload);
      options.layout = layout_of(*upload);
    }
    return loader::make_three_augment(options);
  }
  if (kind_of(case_name) == kClipKind) return loader::make_clip_crop({});
  loader::TrainCropOptions options;
  options.dct_scaled = spec.decode_scaled;
  options.erasing.probability = spec.random_erasing;
  SLUICE_TRY(options.filter, filter_of(case_name));
  if (upload) {
    options.type = batch_type(*upload);
    options.layout = layout_of(*upload);
  }
  return loader::make_train_crop(options);
}

Result<std::shared_ptr<const loader::Recipe>> fixed_recipe_of(const std::string& case_name) {
  loader::TrainCropOptions options;
  SLUICE_TRY(options.filter, filter_of(case_name));
  options.crop = loader::CropMode::centre;
  options.type = loader::BatchType::u8;
  options.layout = loader::Layout::hwc;
  if (kind_of(case_name) == kClipKind) return loader::make_clip_crop({.crop = options});
  return loader::make_train_crop(options);
}

}  // namespace sluice::scenario
