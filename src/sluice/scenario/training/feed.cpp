// sluice/scenario/training/feed.cpp - dataset to recipe to loader to the view that an engine takes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/feed.h"

#include "sluice/core/clock.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/recipe/numbers.h"
#include "sluice/loader/recipe/place.h"
#include "sluice/loader/recipe/train_crop.h"
#include "sluice/loader/tokens/token_recipe.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::scenario {
namespace {

/// The first folder of a sample's name, which is "a/7.jpg" or "x.bundle:a/7.jpg"; empty: none.
std::string folder_of(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return "";
  const std::size_t colon = name.rfind(':', slash);
  const std::size_t begin = colon == std::string::npos ? 0 : colon + 1;
  return name.substr(begin, slash - begin);
}

Status check_labels(const loader::Dataset& dataset, const FeedOptions& options) {
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const std::int64_t label = dataset.label(i);
    if (label >= options.classes)
      return Error{
          Errc::invalid_input,
          fmt::format("{}: has label {}; the model has {} classes, 0 to {} are accepted",
                      printable(dataset.name(i)), label, options.classes, options.classes - 1)};
    if (label < 0 && !options.stand_in_labels)
      return Error{Errc::invalid_input,
                   fmt::format("{}: has no label; images lie in one folder per class "
                               "(cats/1.jpg), or are labelled in their shards",
                               printable(dataset.name(i)))};
  }
  return ok;
}

bool holds_arrays(const loader::Dataset& dataset) {
  return dataset.size() > 0 && dataset.name(0).ends_with(".npy");
}

/// What is drawn, decoded by a GPU or sent as bytes is an image.
Status check_array_options(const FeedOptions& options, const std::string& name) {
  const LoaderSpec& spec = options.loader;
  const std::pair<const char*, bool> of_images[] = {
      {"three-augment", spec.three_augment},
      {"random erasing", spec.random_erasing > 0},
      {"decoding by a GPU", spec.lanes != loader::gpu::LanePolicy::cpu},
      {"--upload other than fp32", spec.device != "cpu" && spec.upload != train::PixelType::f32}};
  for (const auto& [what, asked] : of_images)
    if (asked)
      return Error{Errc::usage,
                   fmt::format("{}: is an array; {} is for images", printable(name), what)};
  return ok;
}

Status check_samples(const loader::Dataset& dataset, const FeedOptions& options) {
  if (holds_arrays(dataset))
    SLUICE_CHECK(check_array_options(options, dataset.name(0)));
  else if (dataset.size() > 0 && !loader::is_image_key(dataset.name(0)))
    return Error{Errc::invalid_input,
                 fmt::format("{}: is no sample; training takes .jpg, .jpeg, .png, .webp and .npy",
                             printable(dataset.name(0)))};
  return check_labels(dataset, options);
}

bool for_device(const FeedOptions& options) {
  return options.emulated_device || options.loader.device != "cpu";
}

Result<std::shared_ptr<const loader::Recipe>> recipe_for(const loader::Dataset& dataset,
                                                         const FeedOptions& options) {
  if (options.loader.sequence > 0)
    return loader::make_tokens(
        {options.loader.sequence, static_cast<std::uint32_t>(options.vocabulary)});
  if (holds_arrays(dataset)) return loader::make_numbers({.side = options.image});
  if (options.loader.three_augment && options.use == FeedUse::train) {
    loader::ThreeAugmentOptions recipe;
    recipe.side = options.image;
    recipe.erasing.probability = options.loader.random_erasing;
    if (for_device(options)) {
      recipe.type = batch_type(options.loader.upload);
      recipe.layout = layout_of(options.loader.upload);
    }
    return loader::make_three_augment(recipe);
  }
  loader::TrainCropOptions crop;
  crop.side = options.image;
  crop.filter = loader::Filter::antialias;
  crop.dct_scaled = options.loader.decode_scaled;
  if (for_device(options)) {
    crop.type = batch_type(options.loader.upload);
    crop.layout = layout_of(options.loader.upload);
  }
  if (options.use == FeedUse::train) crop.erasing.probability = options.loader.random_erasing;
  crop.crop = options.use == FeedUse::train ? loader::CropMode::random : loader::CropMode::centre;
  return loader::make_train_crop(crop);
}

loader::LoaderOptions loader_options(const loader::Dataset& dataset, const FeedOptions& options) {
  const LoaderSpec& spec = options.loader;
  const bool train = options.use == FeedUse::train;
  loader::LoaderOptions made;
  made.batch_size = spec.batch_size;
  made.workers = spec.workers;
  made.seed = spec.seed;
  made.rank = spec.rank;
  made.ranks = spec.ranks;
  made.shuffle = !train                              ? loader::Shuffle::none
                 : dataset.shard_starts().size() > 1 ? loader::Shuffle::shards
                                                     : loader::Shuffle::full;
  made.drop_last = train;
  made.persistent_workers = spec.persistent_workers;
  made.next_epoch_ahead = train;
  set_slots(made, spec);
  made.on_error = spec.skip_errors ? loader::OnError::skip : loader::OnError::fail;
  return made;
}

}  // namespace

DatasetClasses classes_of(const loader::Dataset& dataset) {
  DatasetClasses classes;
  bool by_folder = true;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const std::int64_t label = dataset.label(i);
    if (label < 0) {
      if (classes.unlabelled++ == 0) classes.first_unlabelled = dataset.name(i);
      continue;
    }
    classes.count = std::max(classes.count, static_cast<int>(label) + 1);
    if (!by_folder) continue;
    const auto at = static_cast<std::size_t>(label);
    std::string folder = folder_of(dataset.name(i));
    if (at >= classes.names.size()) classes.names.resize(at + 1);
    if (classes.names[at].empty()) classes.names[at] = folder;
    by_folder = !folder.empty() && classes.names[at] == folder;
  }
  by_folder = by_folder && std::none_of(classes.names.begin(), classes.names.end(),
                                        [](const std::string& name) { return name.empty(); });
  if (!by_folder) classes.names.clear();
  return classes;
}

std::string digest_of(const loader::Dataset& dataset) {
  Sha256 digest;
  for (std::uint64_t i = 0; i < dataset.size(); ++i)
    digest.update(fmt::format("{}:{}\n", dataset.name(i), dataset.label(i)));
  return digest.hex().substr(0, 12);
}

void FeedOptions::set_model(const train::ModelSpec& model) {
  const bool text = model.family == train::Family::gpt;
  image = model.image;
  classes = model.classes;
  vocabulary = text ? model.vocabulary : 0;
  loader.sequence = text ? static_cast<std::uint32_t>(model.sequence) : 0;
}

Result<std::unique_ptr<TrainingFeed>> TrainingFeed::make(
    std::shared_ptr<const loader::Dataset> dataset, const FeedOptions& options) {
  const bool text = options.loader.sequence > 0;
  if (!text) SLUICE_CHECK(check_samples(*dataset, options));
  std::unique_ptr<TrainingFeed> feed(new TrainingFeed);
  feed->options_ = options;
  if (text) {
    feed->options_.loader.pin_memory = false;  // no device reads the slots
    feed->tokens_.emplace(options.loader.batch_size, options.loader.sequence);
  }
  SLUICE_TRY(feed->recipe_, recipe_for(*dataset, options));
  const loader::LoaderOptions loading = loader_options(*dataset, feed->options_);
  if (!text && options.loader.lanes != loader::gpu::LanePolicy::cpu &&
      options.use == FeedUse::train) {
    SLUICE_TRY(feed->on_gpu_, make_lanes(dataset, options.loader, loading, options.image, true));
  } else {
    SLUICE_TRY(feed->loader_, loader::Loader::make(dataset, feed->recipe_, loading));
  }
  feed->dataset_ = std::move(dataset);
  feed->labels_.resize(options.loader.batch_size);
  return feed;
}

Result<FeedOptions> feed_options(const TrainingSpec& spec, measure::SubjectContext context) {
  FeedOptions options;
  context.spec = spec.loader;
  SLUICE_TRY(options.loader, read_loader_spec(context));
  options.loader.batch_size = static_cast<std::uint32_t>(spec.engine.batch);
  options.loader.device = spec.engine.device;
  options.set_model(spec.engine.model);
  options.stand_in_labels = true;
  return options;
}

Result<std::unique_ptr<TrainingFeed>> TrainingFeed::open(const FeedOptions& options) {
  SLUICE_TRY(LoaderInput input, open_loader_input(options.loader));
  SLUICE_TRY(auto feed, make(std::move(input.dataset), options));
  feed->store_ = std::move(input.store);
  return feed;
}

Status TrainingFeed::connect(const train::Engine& engine) {
  batch_.release();
  if (tokens_) return ok;
  inbox_ = engine.inbox();
  const bool on_cpu = options_.loader.device == "cpu";
  if ((inbox_ == nullptr) != on_cpu)
    return Error{Errc::internal, fmt::format("batches for {} were given to {}",
                                             options_.loader.device, engine.info().device)};
  if (on_cpu) return ok;
  if (options_.loader.upload == train::PixelType::u8)
    levels_ = loader::normalized_levels(image::Normalization::imagenet());
  outbox_ = on_gpu_ ? make_outbox(*on_gpu_, *inbox_, levels_)
                    : make_outbox(*loader_, *inbox_, options_.loader.upload, levels_);
  return ok;
}

Status TrainingFeed::end_epoch() {
  batch_.release();
  return outbox_ ? outbox_->clear() : ok;
}

Status TrainingFeed::start_epoch(std::uint64_t epoch) {
  SLUICE_CHECK(end_epoch());
  state_.reset();
  return outbox_ ? outbox_->start_epoch(epoch) : loader_->start_epoch(epoch);
}

Status TrainingFeed::restore(const loader::LoaderState& state) {
  SLUICE_CHECK(end_epoch());
  state_.reset();
  return outbox_ ? outbox_->restore(state) : loader_->restore(state);
}

loader::LoaderState TrainingFeed::state() const {
  if (state_) return *state_;
  return on_gpu_ ? on_gpu_->state() : loader_->state();
}

loader::LoaderStats TrainingFeed::stats() const {
  return on_gpu_ ? on_gpu_->stats().loader : loader_->stats();
}

LoaderMoment TrainingFeed::moment() const {
  return {SystemClock().now_ns(), stats(), store_ ? store_->counters() : Json()};
}

std::uint64_t TrainingFeed::steps() const {
  const std::uint64_t batch = std::uint64_t{options_.loader.batch_size} * options_.loader.ranks;
  return options_.use == FeedUse::train ? size() / batch : (size() + batch - 1) / batch;
}

void TrainingFeed::set_labels(FeedBatch& batch, std::span<const std::int64_t> given,
                              std::span<const std::uint64_t> indices) {
  batch.samples = static_cast<std::uint32_t>(given.size());
  std::fill(labels_.begin(), labels_.end(), -1);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool stand_in = given[i] < 0;
    labels_[i] =
        stand_in
            ? static_cast<std::int32_t>(indices[i] % static_cast<std::uint64_t>(options_.classes))
            : static_cast<std::int32_t>(given[i]);
  }
  batch.view.labels = labels_;
}

Result<std::optional<FeedBatch>> TrainingFeed::next_sent() {
  SLUICE_TRY(const auto sent, outbox_->next());
  if (!sent) return std::optional<FeedBatch>();
  FeedBatch batch;
  set_labels(batch, sent->labels, sent->indices);
  batch.view.sent = true;
  state_ = sent->after;
  if (epoch_) epoch_ = sent->epoch;
  return std::optional<FeedBatch>(batch);
}

FeedBatch TrainingFeed::images() {
  FeedBatch batch;
  set_labels(batch, batch_.labels(), batch_.indices());
  batch.pixels = batch_.data();
  if (batch_.spec().type != loader::BatchType::f32) return batch;
  const auto pixels = batch_.as<float>();
  batch.view.images = pixels;
  if (batch.samples < labels_.size()) {
    filled_.assign(pixels.size() / batch.samples * labels_.size(), 0.0F);
    std::copy(pixels.begin(), pixels.end(), filled_.begin());
    batch.view.images = filled_;
  }
  return batch;
}

FeedBatch TrainingFeed::text() {
  FeedBatch batch;
  batch.view = tokens_->set(batch_.as<std::int32_t>());
  batch.samples = batch_.size();
  return batch;
}

Result<std::optional<FeedBatch>> TrainingFeed::next() {
  const std::int64_t start_ns = SystemClock().now_ns();
  if (outbox_) {
    SLUICE_TRY(auto batch, next_sent());
    if (batch) batch->wait_ns = SystemClock().now_ns() - start_ns;
    return batch;
  }
  if (on_gpu_) return Error{Errc::internal, "batches of a GPU were asked for before connect()"};
  batch_.release();
  SLUICE_TRY(auto taken, loader_->next());
  if (!taken) return std::optional<FeedBatch>();
  batch_ = std::move(*taken);
  FeedBatch batch = tokens_ ? text() : images();
  batch.wait_ns = SystemClock().now_ns() - start_ns;
  return std::optional<FeedBatch>(batch);
}

Result<FeedBatch> TrainingFeed::next_of_any_epoch() {
  const std::int64_t start_ns = SystemClock().now_ns();
  if (outbox_) outbox_->set_endless();
  std::optional<FeedBatch> batch;
  if (epoch_) {
    SLUICE_TRY(batch, next());
  }
  if (!batch) {
    epoch_ = epoch_ ? *epoch_ + 1 : 0;
    SLUICE_CHECK(start_epoch(*epoch_));
    SLUICE_TRY(batch, next());
  }
  if (!batch)
    return Error{Errc::invalid_input, "the loader gave no batch at the start of an epoch"};
  batch->wait_ns = SystemClock().now_ns() - start_ns;
  return *batch;
}

}  // namespace sluice::scenario
