// sluice/loader/mixture/source.h - the frame pairs of one data set, in an order that depends on its
// data and the seed alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/episodes/episode.h"
#include "sluice/loader/mixture/mixture.h"
#include "sluice/loader/mixture/part_reader.h"
#include "sluice/loader/mixture/sample.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice::loader::mixture {

/// What a fill() met besides samples, and the time it took.
struct FillReport {
  std::uint64_t too_short = 0;
  std::uint64_t bad_records = 0;
  std::string first_error{};
  std::int64_t read_ns = 0;
  std::int64_t parse_ns = 0;
  bool ended = false;    // no further sample: one_pass, or
  bool dropped = false;  // nothing usable in a whole epoch
};

/// Used by one thread at a time.
class Source {
 public:
  /// A feature that is missing or of another kind is an error that names it.
  static Result<std::unique_ptr<Source>> open(const SourceSpec& spec, std::uint32_t index,
                                              const MixtureOptions& options);

  /// The next samples; fewer than asked for only at the end. An error: OnBadData::stop and
  /// something is bad, or a failure of the store (io, timeout, interrupted).
  Result<std::size_t> fill(std::span<Sample> out, FillReport& report);
  /// Goes on there.
  void seek(const Cursor& cursor);

  [[nodiscard]] int action_size() const { return action_size_; }
  [[nodiscard]] int state_size() const { return state_size_; }

 private:
  struct Place {
    std::uint32_t shard = 0;
    std::uint64_t record = 0;  // in its file
  };
  struct Known {
    episodes::EpisodeLayout layout;
    std::uint32_t checksum = 0;  // of the payload it was made of
  };
  struct Shard {
    bool scanned = false;
    std::vector<storage::RecordPlace> places{};
    std::vector<char> checked{};                  // the checksum fitted
    std::vector<std::unique_ptr<Known>> known{};  // null: read it whole
    std::string error{};                          // why there are no more places
  };

  Source(const SourceSpec& spec, std::uint32_t index, const MixtureOptions& options);
  Status resolve();
  void order_epoch();
  /// The episode at the cursor is parsed, pairs_ and taken_ are set.
  Status load(FillReport& report);
  Status scan(std::uint32_t shard);
  /// Likewise, but of the record only what is taken of it. False: it must be read whole.
  Result<bool> load_parts(const Place& place, FillReport& report);
  /// The frames and lists of parts_wanted_; with check_always in one pass over the whole record.
  /// False: the record is no longer the one that is known.
  Result<bool> read_parts(const Place& place, const Known& known);
  /// Keeps where the parts of the episode that was read whole lie, if they are worth it.
  void remember(const Place& place, std::uint32_t checksum);
  void forget(const Place& place);
  /// Sets pairs_ and taken_.
  void count_pairs(std::uint64_t steps);
  /// The first frame of a pair that is taken.
  [[nodiscard]] std::size_t frame_of(std::uint64_t pair) const;
  Status take(Sample& out);
  /// True: the error is of this episode alone, and was counted.
  Result<bool> passable(const Error& error, FillReport& report);

  const SourceSpec& spec_;
  const MixtureOptions& options_;
  std::uint32_t index_;
  std::uint64_t seed_;
  std::size_t image_ = 0;
  std::optional<std::size_t> action_{}, state_feature_{}, language_{}, robot_{};
  std::vector<std::size_t> others_;  // all of these that there are
  int action_size_ = 0;
  int state_size_ = 0;

  storage::RecordReader reader_;
  std::optional<std::uint32_t> open_shard_{};
  std::vector<Shard> shards_;
  std::vector<Place> order_;
  std::optional<std::uint64_t> ordered_epoch_{};
  episodes::Episode episode_;
  PartReader parts_;
  std::size_t layout_bytes_ = 0;  // of all layouts
  Cursor cursor_;
  bool loaded_ = false;
  std::uint64_t pairs_ = 0;
  std::uint64_t taken_ = 0;          // pairs that are given of this episode
  std::uint64_t epoch_samples_ = 0;  // given in this epoch
  std::vector<float> step_;          // scratch, as are these
  std::vector<std::size_t> steps_wanted_;
  std::vector<PartReader::Part> parts_wanted_;
};

}  // namespace sluice::loader::mixture
