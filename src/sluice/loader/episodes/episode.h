// sluice/loader/episodes/episode.h - one episode: its steps, read in place from a tf.train.Example.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/episodes/features.h"
#include "sluice/storage/format/example_proto.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::loader::episodes {

/// Where parts of an episode lie in its record, so that later only those are read.
struct EpisodeLayout {
  struct Part {
    std::uint32_t offset = 0;  // from the first byte of the record's payload
    std::uint32_t size = 0;
  };
  struct List {
    std::uint32_t feature = 0;
    storage::ListKind kind = storage::ListKind::none;
    Part part{};
  };
  std::uint32_t first = 0;           // offset of the first frame
  std::vector<std::uint32_t> sizes;  // of each step's image, with its tag and length: no gaps
  std::vector<List> lists;           // of other features, whole

  [[nodiscard]] std::size_t steps() const { return sizes.size(); }
  [[nodiscard]] Part frame(std::size_t step) const;
  [[nodiscard]] std::size_t memory_bytes() const {
    return sizeof(*this) + sizes.capacity() * sizeof(sizes[0]) + lists.capacity() * sizeof(List);
  }
};

/// Steps by index, features by their index in the table. Nothing is decoded before it is asked for,
/// and images stay encoded. Errors are invalid_input and name the feature. Reuse one object per
/// thread: its memory is kept from episode to episode.
class Episode {
 public:
  /// Both must outlive what is asked of it later. The number of steps is that of `steps/is_first`
  /// or, where that is not there, of the first feature with one element per step.
  Status parse(std::span<const std::byte> message, const FeatureTable& features);

  /// Of what parse() read: where the frames of `image` and the lists of `others` lie, those that
  /// the record has. Nothing where they cannot be read alone: ragged features, or fields that no
  /// writer of TFDS leaves.
  std::optional<EpisodeLayout> layout(std::size_t image, std::span<const std::size_t> others);

  // Instead of parse(): an episode of parts that were read alone. What is not added is not there.
  void start_parts(const FeatureTable& features, std::size_t steps, std::size_t image);
  /// invalid_input: no image of one step, so the record is no longer what the layout was made of.
  Status add_frame(std::size_t image, std::size_t step, std::span<const std::byte> part);
  void add_list(const EpisodeLayout::List& list, std::span<const std::byte> part);

  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] bool has(std::size_t feature) const;

  // The elements of one step; of a feature outside of the steps `step` is 0. A list whose length is
  // not steps x values is an error, as is a ragged feature.
  Result<std::string_view> bytes(std::size_t feature, std::size_t step);
  Result<std::span<const float>> floats(std::size_t feature, std::size_t step);
  Result<std::span<const std::int64_t>> ints(std::size_t feature, std::size_t step);
  /// Numbers of either kind, as float.
  Status numbers(std::span<float> out, std::size_t feature, std::size_t step);

  /// Elements [first, last) of a ragged feature's flat values that lie in `step`.
  struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
  };
  Result<Range> ragged(std::size_t feature, std::size_t step);
  /// Lengths of level `level` (0: one per step) of a ragged feature.
  Result<std::span<const std::int64_t>> row_lengths(std::size_t feature, int level);
  // The whole list of a feature: what ragged() points into.
  Result<std::span<const std::string_view>> all_bytes(std::size_t feature);
  Result<std::span<const float>> all_floats(std::size_t feature);
  Result<std::span<const std::int64_t>> all_ints(std::size_t feature);
  /// The shape of an encoded tensor that has one of its own (FeatureSpec::with_shape).
  Result<std::span<const std::int64_t>> shape(std::size_t feature, std::size_t step);

 private:
  struct Column {
    bool decoded = false;
    std::vector<std::string_view> bytes{};
    std::vector<float> floats{};
    std::vector<std::int64_t> ints{};
    std::vector<std::vector<std::int64_t>> lengths{};
    std::vector<std::int64_t> shapes{};
  };

  Result<Column*> column(std::size_t feature);
  Status decode(Column& column, const FeatureSpec& spec);
  Status decode_lengths(Column& column, const FeatureSpec& spec);
  Status count_steps();
  /// Of a column that is not ragged: values per step.
  Result<std::size_t> per_step(const FeatureSpec& spec, std::size_t count, std::size_t step) const;
  [[nodiscard]] const storage::ExampleFeature* list(const FeatureSpec& spec,
                                                    std::string_view suffix) const;

  const FeatureTable* table_ = nullptr;
  std::span<const std::byte> message_;
  std::vector<storage::ExampleFeature> lists_;
  std::vector<Column> columns_;
  std::size_t steps_ = 0;
};

/// Values of an encoded tensor (Encoding::bytes or zlib) as their memory, little endian. `shape`:
/// of this one, where it has one of its own; else empty.
Status unpack_tensor(std::vector<std::byte>& out, const FeatureSpec& spec, std::string_view encoded,
                     std::span<const std::int64_t> shape = {});

/// Text of a step: a string, or numbers of characters as language_table has them. Trailing NULs go.
Result<std::string> step_text(Episode& episode, const FeatureTable& features, std::size_t feature,
                              std::size_t step);

}  // namespace sluice::loader::episodes
