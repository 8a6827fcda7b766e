// sluice/scenario/mixture/train.cpp - batches of pairs into the form that the engine takes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/train.h"

#include "sluice/core/text.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/recipe/place.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/train/cuda/inbox.h"
#include "sluice/train/cuda/library.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::scenario {
namespace {

/// The first frame of [3, 2, full, full], its middle, normalised.
void put_frame(float* to, const std::uint8_t* pair, std::size_t full, std::size_t side) {
  static const image::Normalization kNormal = image::Normalization::imagenet();
  const std::size_t margin = (full - side) / 2;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::uint8_t* plane = pair + c * 2 * full * full;
    for (std::size_t y = 0; y < side; ++y, to += side) {
      const std::uint8_t* row = plane + (y + margin) * full + margin;
      for (std::size_t x = 0; x < side; ++x)
        to[x] = static_cast<float>(row[x]) * kNormal.scale[c] + kNormal.offset[c];
    }
  }
}

/// The same as bytes, [side, side, 3]: a GPU normalises them.
void pack_frame(std::uint8_t* to, const std::uint8_t* pair, std::size_t full, std::size_t side) {
  const std::size_t margin = (full - side) / 2;
  const std::size_t plane = 2 * full * full;
  for (std::size_t y = 0; y < side; ++y) {
    const std::uint8_t* row = pair + (y + margin) * full + margin;
    for (std::size_t x = 0; x < side; ++x, to += 3) {
      to[0] = row[x];
      to[1] = row[plane + x];
      to[2] = row[2 * plane + x];
    }
  }
}

constexpr unsigned kMostPackers = 4;  // the other cores are the loader's

}  // namespace

Result<train::EngineConfig> mixture_engine(const std::string& model, int batch, int image_size,
                                           int sources, const std::string& device) {
  train::EngineConfig config;
  SLUICE_TRY(config.model, train::find_model(model));
  if (config.model.family != train::Family::vit5)
    return Error{Errc::usage, fmt::format("model {}: one that takes images is accepted: vit5-tiny, "
                                          "vit5-small or vit5-base",
                                          printable(model))};
  config.model.image = image_size / config.model.patch * config.model.patch;
  if (config.model.image < config.model.patch)
    return Error{Errc::usage, fmt::format("image size {}: model {} takes {} or more", image_size,
                                          printable(model), config.model.patch)};
  config.model.classes = sources;
  config.batch = batch;
  config.device = device;
  if (device != "cpu") config.regime = train::Regime::mixed;
  return config;
}

MixtureTrainer::MixtureTrainer(std::unique_ptr<train::Engine> engine, int image_size)
    : engine_(std::move(engine)), image_size_(image_size) {
  const auto batch = static_cast<std::size_t>(engine_->config().batch);
  const auto side = static_cast<std::size_t>(engine_->config().model.image);
  if (engine_->inbox() == nullptr) images_.resize(batch * 3 * side * side);
  labels_.resize(batch);
}

MixtureTrainer::~MixtureTrainer() {
  engine_.reset();  // nothing copies any more
  if (!pinned_.empty()) train::cuda::unpin(pinned_);
}

Result<std::unique_ptr<MixtureTrainer>> MixtureTrainer::make(const std::string& model, int batch,
                                                             int image_size, int sources,
                                                             const std::string& device) {
  SLUICE_TRY(const train::EngineConfig config,
             mixture_engine(model, batch, image_size, sources, device));
  SLUICE_TRY(auto engine, train::Engine::make(config));
  std::unique_ptr<MixtureTrainer> made(new MixtureTrainer(std::move(engine), image_size));
  if (made->engine_->inbox() == nullptr) return made;
  SLUICE_TRY(const int index, train::cuda::device_index(device));
  const auto side = static_cast<std::size_t>(config.model.image);
  SLUICE_TRY(made->pinned_,
             train::cuda::pin(index, static_cast<std::size_t>(batch) * 3 * side * side));
  made->levels_ = loader::normalized_levels(image::Normalization::imagenet());
  made->packers_ = std::make_unique<ThreadPool>(std::min(usable_cores(), kMostPackers));
  return made;
}

Status MixtureTrainer::send(const loader::mixture::MixtureBatch& batch) {
  train::cuda::Inbox& inbox = *engine_->inbox();
  if (sent_) SLUICE_CHECK(inbox.arrived(*sent_, kCopyLimit));
  const auto side = static_cast<std::size_t>(engine_->config().model.image);
  const auto full = static_cast<std::size_t>(image_size_);
  auto* const to = reinterpret_cast<std::uint8_t*>(pinned_.data());
  packers_->parallel_for(labels_.size(), [&](std::size_t i, unsigned) {
    pack_frame(to + i * 3 * side * side, batch.images.data() + i * 6 * full * full, full, side);
  });
  SLUICE_TRY(sent_, inbox.send({pinned_, train::PixelType::u8, levels_}));
  return ok;
}

Status MixtureTrainer::step(const loader::mixture::MixtureBatch& batch) {
  const train::EngineConfig& config = engine_->config();
  const auto count = static_cast<std::size_t>(config.batch);
  if (batch.size != config.batch || batch.image_size != image_size_ || batch.source.size() != count)
    return Error{
        Errc::usage,
        fmt::format("a batch of {} samples of {} pixels with {} data sets: the model "
                    "takes {} of {}, and which data set each is of",
                    batch.size, batch.image_size, batch.source.size(), count, image_size_)};
  const auto side = static_cast<std::size_t>(config.model.image);
  const auto full = static_cast<std::size_t>(image_size_);
  for (std::size_t i = 0; i < count; ++i)
    labels_[i] = static_cast<std::int32_t>(batch.source[i]);
  train::BatchView view;
  view.labels = labels_;
  if (packers_ != nullptr) {
    SLUICE_CHECK(send(batch));
    view.sent = true;
  } else {
    for (std::size_t i = 0; i < count; ++i)
      put_frame(images_.data() + i * 3 * side * side, batch.images.data() + i * 6 * full * full,
                full, side);
    view.images = images_;
  }
  SLUICE_CHECK(engine_->micro_step(view));
  SLUICE_TRY(const train::StepResult done, engine_->update());
  losses_.push_back(done.loss);
  return ok;
}

}  // namespace sluice::scenario
