// sluice/loader/tokens/token_dataset.h - a text as samples: sequences of one length, one after
// another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/data/dataset.h"
#include "sluice/loader/tokens/token_index.h"
#include "sluice/storage/object_store.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace sluice::loader {

/// Sample i is tokens [i * sequence, (i + 1) * sequence] of the text, the next id of each with it:
/// neighbours share one token, so that every token but the first is predicted once. Documents and
/// shards end anywhere in a sample. What is left at the end is left out. Samples have no label.
class TokenDataset final : public Dataset {
 public:
  /// Reads the index of `store` and looks at the size of every shard; no token is read. A store
  /// without an index, shards that are not as it says, and a text too short for one sample are
  /// invalid_input. Precondition: sequence > 0.
  static Result<std::shared_ptr<const TokenDataset>> open(
      std::shared_ptr<storage::ObjectStore> store, std::uint32_t sequence);

  [[nodiscard]] const TokenIndex& index() const { return index_; }
  [[nodiscard]] std::uint32_t sequence() const { return sequence_; }
  /// Reads every token. The first that is not below the vocabulary of the index, or below
  /// `vocabulary`, that of a model, is invalid_input: shard, position and value.
  [[nodiscard]] Status check_ids(std::uint32_t vocabulary) const;

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  /// "tokens-00003.bin:1280": the shard and the place in it of the first token.
  [[nodiscard]] std::string name(std::uint64_t index) const override;
  [[nodiscard]] std::int64_t label(std::uint64_t /*index*/) const override { return -1; }
  /// One: a map has no shard that is dear to open.
  [[nodiscard]] std::span<const std::uint64_t> shard_starts() const override { return starts_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t /*index*/) const override {
    return (std::uint64_t{sequence_} + 1) * bytes_of(index_.type);
  }
  /// sequence() + 1 tokens of the type of the index.
  Result<std::span<const std::byte>> read(std::uint64_t index,
                                          storage::ReadBuffer& buffer) const override;
  void cancel() const override { store_->cancel(); }

 private:
  TokenDataset() = default;
  Status find_shards();
  [[nodiscard]] std::size_t shard_of(std::uint64_t token) const;
  /// Tokens [token, token + count) of one shard.
  Result<std::span<const std::byte>> read_part(std::size_t shard, std::uint64_t token,
                                               std::uint64_t count,
                                               storage::ReadBuffer& buffer) const;

  std::shared_ptr<storage::ObjectStore> store_;
  TokenIndex index_;
  std::vector<storage::Object> objects_;  // the shards
  std::vector<std::uint64_t> first_;      // token of the text with which each begins, and the end
  std::uint32_t sequence_ = 0;
  std::uint64_t size_ = 0;
  static constexpr std::array<std::uint64_t, 1> starts_{0};
};

}  // namespace sluice::loader
