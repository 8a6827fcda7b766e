// sluice/loader/mixture/mixture.h - many data sets of episodes to batches of frame pairs, mixed by
// weight.
// SPDX-License-Identifier: Apache-2.0
//
//   readers (threads)     -> queue of blocks -> mixer (thread)  -> decoders (threads) -> next()
//   record -> frame pairs    per source         blocks by share    decode, resize        batch
//
// A sample is the frames t and t + offset of an episode, still encoded until it was mixed. Each
// source gives its samples in an order that depends on its data and the seed alone; only how
// sources follow each other may depend on time, and with `deterministic` not even that.
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/episodes/episode_dataset.h"
#include "sluice/loader/episodes/presets.h"
#include "sluice/loader/mixture/schedule.h"
#include "sluice/storage/open_store.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loader::mixture {

enum class Metadata : std::uint8_t {
  full,          // all of Batch::Full
  dataset_only,  // which data set a sample is of
  off,
};
const char* to_string(Metadata metadata);

enum class OnBadData : std::uint8_t {
  skip,  // counted and named; what follows is used instead
  stop,  // the first is what next() returns
};

/// One data set of the mix.
struct SourceSpec {
  std::string name;  // in metadata and messages; no two alike
  std::shared_ptr<const episodes::EpisodeDataset> dataset;
  double weight = 1;                             // relative to the sum; 0 leaves it out
  int offset = 1;                                // steps between the frames of a pair, at least 1
  std::string image;                             // names of features: "steps/observation/image"
  std::string action{};                          // empty: none
  std::string state{};                           // empty: none
  std::string language{};                        // empty: none
  std::string robot = "episode_metadata/robot";  // where a data set has none, it is empty
  int interleave = 0;                            // shards read in turn; 0: those of the options
  std::string type{};                            // of data set, in metadata: "oxe"
  std::string split{};                           // that `dataset` was opened at
  std::string place{};                           // of its own, not below the root; else empty
  std::string where{};                           // all this was written: "my.yaml:7"
};

/// Which split is read where nobody names one.
enum class PresetPart : std::uint8_t { train, validation };

struct PresetChoice {
  std::string split{};  // of every data set; empty: each its own of `part`
  PresetPart part = PresetPart::train;
  std::vector<std::string> skip{};  // names that are left out, besides those that the preset skips
  storage::StoreOptions places{};   // how data sets with a place of their own are opened
};

/// The sources of a preset in a store. Data sets that are missing from it are an error.
Result<std::vector<SourceSpec>> preset_sources(const std::shared_ptr<storage::ObjectStore>& store,
                                               const episodes::Preset& preset,
                                               const PresetChoice& choice = {});

struct MixtureOptions {
  int batch_size = 64;           // a multiple of mix_block
  int samples_per_episode = 1;   // 0: all pairs of an episode
  bool shuffle_episodes = true;  // shards, and records within them, anew in every epoch
  bool shuffle_pairs = true;     // which pairs of an episode, in which order; off: the first ones
  int image_size = 256;
  Metadata metadata = Metadata::full;
  Mix mix = Mix::deficit;
  int mix_block = 4;     // samples of one source that follow each other
  int queue = 4;         // blocks that wait per source, at least 1
  int min_ready = 8;     // sources with a block before the first batch; at most all
  int prime = 0;         // instead: all of them, each with so many samples; 0: not
  int read_threads = 4;  // a source is read by one at a time
  int decode_threads = 4;
  int interleave = 4;          // shards of a source that are read in turn
  int prefetch = 2;            // batches made ahead, at least 1
  bool check_always = false;   // the checksum of a record each time, not only the first
  bool deterministic = false;  // sources in an order that does not depend on time: waits for each
  bool one_pass = false;       // every episode once, then the end; batches may be smaller
  OnBadData on_error = OnBadData::skip;
  double stall_limit_s = 600;  // nothing for so long is an error that names who is waited for
  std::uint64_t seed = 0;
};
/// Errc::usage for a number out of range, or a batch that is no multiple of the block.
Status check(const MixtureOptions& options);

/// What the mixer does besides: by thread time, so that the shares add up to what was used.
enum class MixtureStage : std::uint8_t { read, parse, mix, decode, resize, collate };
inline constexpr std::size_t kStages = 6;
const char* to_string(MixtureStage stage);

/// Memory of the loader: valid until the next call of next().
struct MixtureBatch {
  std::uint64_t index = 0;
  int size = 0;  // samples
  int image_size = 0;
  std::span<const std::uint8_t> images;   // [size, 3, 2, image_size, image_size]
  std::span<const std::uint32_t> source;  // [size], of Mixture::sources(); empty without metadata
  struct Full {                           // with Metadata::full; else empty
    int action_size = 0;                  // the largest of all sources, as is state_size
    int state_size = 0;
    std::span<const float> action;          // [size, action_size]: sum over [t, t + offset), then 0
    std::span<const float> state;           // [size, state_size]: at t, then 0
    std::span<const std::string> language;  // at t
    std::span<const std::string> episode_id;  // "rt1:<shard file>:<record>"
    std::span<const std::string> robot;
    std::span<const std::int64_t> frame;   // t
    std::span<const std::int32_t> offset;  // each its own
  } full;
};

struct SourceStats {
  std::string name;
  double requested = 0;            // share
  std::uint64_t samples = 0;       // in batches handed out
  std::uint64_t starved = 0;       // blocks at which it was due and had none
  std::uint64_t too_short = 0;     // episodes without a pair
  std::uint64_t bad_records = 0;   // damaged, wrong or missing features; of a bad shard the rest
  std::uint64_t bad_images = 0;    // another sample of the batch stands in
  std::string first_error{};       // of its bad ones
  bool dropped = false;            // nothing usable in a whole epoch
  std::uint64_t samples_read = 0;  // by readers, those that wait counted
  double read_s = 0;               // of readers, by the clock: a store that is slow shows
  std::uint64_t samples_decoded = 0;
  double decode_s = 0;  // of decoders, thread time: decode, resize, collate
};

struct MixtureStats {
  std::vector<SourceStats> sources;
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
  double start_s = 0;  // from construction to the first batch's blocks
  double wait_s = 0;   // in next()
  std::array<double, kStages> cpu_s{};
  std::string schedule_hash;  // over source, episode and frame of every sample handed out
};
Json to_json(const MixtureStats& stats);

class Pipeline;  // pipeline.h

class Mixture {
 public:
  /// Errc::usage and invalid_input: batch_size no multiple of mix_block, no weight above 0, a
  /// feature that a source has not, and so on; one line. Threads run when this returns. `resume`:
  /// what state() gave; one of another seed, block, sources or samples_per_episode is
  /// invalid_input.
  static Result<std::unique_ptr<Mixture>> open(std::vector<SourceSpec> sources,
                                               const MixtureOptions& options,
                                               const Json& resume = Json());
  /// Ends all threads; a read in flight is waited for, unless close() was called.
  ~Mixture();
  Mixture(const Mixture&) = delete;
  Mixture& operator=(const Mixture&) = delete;

  /// The next batch; null after the last one (one_pass). After an error always that error.
  /// `keep_waiting` is asked 20 times a second while the batch is not ready; false: `interrupted`,
  /// and the next call goes on. For one thread at a time.
  Result<const MixtureBatch*> next(const std::function<bool()>& keep_waiting = {});

  /// From any thread: ends all threads, a next() that waits too; it then gives `interrupted`. A
  /// read that takes longer than 80 ms is cancelled, and then the stores serve no more.
  void close();

  /// Where it is, after the last batch handed out: with `deterministic` a mixture resumed from it
  /// goes on with exactly the batch that would have followed; without, each source goes on with
  /// exactly its next sample.
  [[nodiscard]] Json state() const;
  [[nodiscard]] const std::vector<SourceSpec>& sources() const;
  [[nodiscard]] MixtureStats stats() const;

 private:
  explicit Mixture(std::unique_ptr<Pipeline> pipeline);
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace sluice::loader::mixture
