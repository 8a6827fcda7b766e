// sluice/scenario/training/feed.h - a loader as the source of an engine's batches. For a CPU images
// normalised, fp32, CHW; to a GPU they are sent ahead, as LoaderSpec::upload says. Tokens are so
// few bytes that any engine copies them itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/loader.h"
#include "sluice/scenario/loader/details.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/scenario/loader/spec.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/scenario/training/token_batch.h"
#include "sluice/train/engine.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::scenario {

/// The classes of a dataset, as its labels say.
struct DatasetClasses {
  int count = 0;                   // highest label + 1; 0: no sample has a label
  std::uint64_t unlabelled = 0;    // samples
  std::string first_unlabelled;    // name of one of them
  std::vector<std::string> names;  // folders by label; empty where labels are numbers of their own
};
DatasetClasses classes_of(const loader::Dataset& dataset);
/// Of names and labels, in their order: whether ranks see the same samples.
std::string digest_of(const loader::Dataset& dataset);

enum class FeedUse : std::uint8_t {
  train,       // shuffled, random crop and flip, a short last batch is left out
  validation,  // in order, the central square, a short last batch is filled up
};

struct FeedOptions {
  LoaderSpec loader;   // batch_size, workers, prefetch, seed, skip_errors, device, sequence, ...
  int image = 224;     // side of what the model takes
  int classes = 1000;  // that it tells apart
  int vocabulary = 0;  // ids that it knows, where loader.sequence says that it takes tokens
  FeedUse use = FeedUse::train;
  /// Samples without a label get index % classes: for timing only. Otherwise they are refused.
  bool stand_in_labels = false;
  /// Batches are handed over as LoaderSpec::upload says though they stay here: the device is
  /// emulated.
  bool emulated_device = false;

  /// What the samples must be for `model`.
  void set_model(const train::ModelSpec& model);
};

/// Valid until the next call of next(), start_epoch() or restore() of its feed.
struct FeedBatch {
  train::BatchView view;              // batch_size samples; those that fill up are 0 with label -1
  std::span<const std::byte> pixels;  // as the loader made them; empty once they were sent
  std::uint32_t samples = 0;          // of the dataset
  std::int64_t wait_ns = 0;           // of next(): see there
};

/// For timing what `spec` describes: its loader, the engine's sizes, labels that need not be there.
Result<FeedOptions> feed_options(const TrainingSpec& spec, measure::SubjectContext context);

class TrainingFeed {
 public:
  /// Refuses (usage, invalid_input) what the loader and the recipe refuse, labels outside of [0,
  /// classes), missing labels without stand_in_labels, and of arrays (loader/recipe/numbers.h) what
  /// only images have; a sample at fault is named.
  /// `dataset`: as open_loader_input() opened `options.loader`, or a part of it.
  static Result<std::unique_ptr<TrainingFeed>> make(std::shared_ptr<const loader::Dataset> dataset,
                                                    const FeedOptions& options);
  /// The same with what `options.loader.input` names.
  static Result<std::unique_ptr<TrainingFeed>> open(const FeedOptions& options);

  /// Batches go to the engine's inbox from now on, where it has one; before the first of them. The
  /// engine outlives the feed. Feeds of one engine take turns: end_epoch() between them.
  Status connect(const train::Engine& engine);

  Status start_epoch(std::uint64_t epoch);
  /// Nothing more of this epoch is wanted.
  Status end_epoch();
  /// Nothing at the end of the epoch. wait_ns is the whole time of this call by the monotonic
  /// clock: giving the last batch back, waiting until the next one is made (with 0 workers: making
  /// it), its labels. What the engine does with a batch is not in it; so the share of a step that
  /// was spent waiting is wait_ns over the time from one return of next() to the following one.
  Result<std::optional<FeedBatch>> next();
  /// Sends what is ready to a GPU, without waiting: to be called while it computes.
  Status ahead() { return outbox_ ? outbox_->ahead() : ok; }
  /// For timing: epoch after epoch, from 0 on; not to be mixed with start_epoch(). wait_ns holds
  /// what the change of epochs takes.
  Result<FeedBatch> next_of_any_epoch();
  [[nodiscard]] std::uint64_t epoch() const { return epoch_.value_or(0); }  // of that

  [[nodiscard]] std::uint64_t size() const { return dataset_->size(); }  // samples
  [[nodiscard]] std::uint64_t steps() const;  // batches of a whole epoch, of the rank with most
  /// After the last batch of next().
  [[nodiscard]] loader::LoaderState state() const;
  Status restore(const loader::LoaderState& state);
  [[nodiscard]] loader::LoaderStats stats() const;
  /// Loader and store as they stand; without a store of its own (make()) that is null.
  [[nodiscard]] LoaderMoment moment() const;
  /// Of the lanes of a GPU; null: the CPU decodes.
  [[nodiscard]] Json lanes() const { return outbox_ ? outbox_->describe() : nullptr; }
  [[nodiscard]] const loader::Dataset& dataset() const { return *dataset_; }
  [[nodiscard]] Json describe() const { return recipe_->describe(); }

 private:
  TrainingFeed() = default;
  Result<std::optional<FeedBatch>> next_sent();
  // The batch in use, in host memory.
  FeedBatch images();
  FeedBatch text();
  /// Labels, and those that fill a batch up.
  void set_labels(FeedBatch& batch, std::span<const std::int64_t> given,
                  std::span<const std::uint64_t> indices);

  FeedOptions options_;
  std::shared_ptr<const storage::ObjectStore> store_;  // null: whoever made the dataset has it
  std::shared_ptr<const loader::Dataset> dataset_;
  std::shared_ptr<const loader::Recipe> recipe_;
  std::unique_ptr<loader::Loader> loader_;           // one of the two
  std::unique_ptr<loader::gpu::DeviceFeed> on_gpu_;  // LoaderSpec::lanes
  std::vector<float> levels_;                        // of a GPU that gets u8
  train::cuda::Inbox* inbox_ = nullptr;
  std::unique_ptr<Outbox> outbox_;            // null: batches stay in host memory
  std::optional<loader::LoaderState> state_;  // after the last batch that was used, when sent
  loader::Batch batch_;                       // the one in use, otherwise
  std::optional<std::uint64_t> epoch_;        // of next_of_any_epoch(); nothing: none began
  std::vector<std::int32_t> labels_;
  std::vector<float> filled_;         // a short batch with what fills it up
  std::optional<TokenBatch> tokens_;  // instead of images
};

}  // namespace sluice::scenario
