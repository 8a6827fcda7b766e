// sluice/scenario/mixture/train.h - what a mixture feeds: a model of the training engine that
// learns which data set a frame is of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/core/thread_pool.h"
#include "sluice/loader/mixture/mixture.h"
#include "sluice/train/engine.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::scenario {

/// The engine as `sluice bench mixture --train MODEL` sets it up: the preset with an input of
/// `image_size`, cut to whole patches, and a class per data set. On the CPU fp32 and every usable
/// core, on a GPU ("cuda:N") bf16, as `bench training` has it.
Result<train::EngineConfig> mixture_engine(const std::string& model, int batch, int image_size,
                                           int sources, const std::string& device = "cpu");

class MixtureTrainer {
 public:
  /// usage: a model that is not known or takes no images, a batch that memory does not hold, a
  /// device that is not there.
  static Result<std::unique_ptr<MixtureTrainer>> make(const std::string& model, int batch,
                                                      int image_size, int sources,
                                                      const std::string& device = "cpu");
  ~MixtureTrainer();
  MixtureTrainer(const MixtureTrainer&) = delete;
  MixtureTrainer& operator=(const MixtureTrainer&) = delete;

  /// One update on the first frames of the pairs; the label is the data set. A batch of another
  /// size, or one without metadata, is an error.
  Status step(const loader::mixture::MixtureBatch& batch);

  [[nodiscard]] std::uint64_t steps() const { return losses_.size(); }
  [[nodiscard]] const std::vector<float>& losses() const { return losses_; }
  [[nodiscard]] const train::EngineInfo& info() const { return engine_->info(); }

 private:
  MixtureTrainer(std::unique_ptr<train::Engine> engine, int image_size);
  /// Into pinned memory as bytes, and from there to the inbox of the engine.
  Status send(const loader::mixture::MixtureBatch& batch);

  std::unique_ptr<train::Engine> engine_;
  int image_size_;
  std::vector<float> images_;  // of a CPU
  // Of a GPU:
  std::span<std::byte> pinned_;
  std::vector<float> levels_;
  std::unique_ptr<ThreadPool> packers_;
  std::optional<std::uint64_t> sent_;  // the last, of the inbox
  std::vector<std::int32_t> labels_;
  std::vector<float> losses_;
};

}  // namespace sluice::scenario
