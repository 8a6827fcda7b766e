// sluice/scenario/mixture/train.cpp - batches of pairs into the form that the engine takes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/train.h"

#include "sluice/core/text.h"
#include "sluice/image/normalize.h"

#include <fmt/format.h>

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

}  // namespace

Result<train::EngineConfig> mixture_engine(const std::string& model, int batch, int image_size,
                                           int sources) {
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
  return config;
}

MixtureTrainer::MixtureTrainer(std::unique_ptr<train::Engine> engine, int image_size)
    : engine_(std::move(engine)), image_size_(image_size) {
  const auto batch = static_cast<std::size_t>(engine_->config().batch);
  const auto side = static_cast<std::size_t>(engine_->config().model.image);
  images_.resize(batch * 3 * side * side);
  labels_.resize(batch);
}

Result<std::unique_ptr<MixtureTrainer>> MixtureTrainer::make(const std::string& model, int batch,
                                                             int image_size, int sources) {
  SLUICE_TRY(const train::EngineConfig config, mixture_engine(model, batch, image_size, sources));
  SLUICE_TRY(auto engine, train::Engine::make(config));
  return std::unique_ptr<MixtureTrainer>(new MixtureTrainer(std::move(engine), image_size));
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
  for (std::size_t i = 0; i < count; ++i) {
    labels_[i] = static_cast<std::int32_t>(batch.source[i]);
    put_frame(images_.data() + i * 3 * side * side, batch.images.data() + i * 6 * full * full, full,
              side);
  }
  train::BatchView view;
  view.images = images_;
  view.labels = labels_;
  SLUICE_CHECK(engine_->micro_step(view));
  SLUICE_TRY(const train::StepResult done, engine_->update());
  losses_.push_back(done.loss);
  return ok;
}

}  // namespace sluice::scenario
