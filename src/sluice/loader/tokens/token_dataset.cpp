// sluice/loader/tokens/token_dataset.cpp - sequences cut out of shards.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/tokens/token_dataset.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::loader {
namespace {

constexpr std::uint64_t kMostIndexBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kChecked = std::uint64_t{1} << 19;  // tokens at a time

std::string place_of(const storage::ObjectStore& store, std::string_view key) {
  return fmt::format("{}/{}", printable(store.name()), printable(key));
}

Result<TokenIndex> read_index(storage::ObjectStore& store) {
  const auto found = store.stat(kTokenIndexName);
  if (!found && found.error().code == Errc::not_found)
    return Error{Errc::invalid_input,
                 fmt::format("{}: has no {}; a model of text takes a folder of tokens, as `sluice "
                             "data make --kind text` writes it",
                             printable(store.name()), kTokenIndexName)};
  if (!found) return found.error();
  const std::string name = place_of(store, kTokenIndexName);
  if (found->size == 0 || found->size > kMostIndexBytes)
    return Error{Errc::invalid_input, fmt::format("{}: has {} bytes; 1 to {} are accepted", name,
                                                  found->size, kMostIndexBytes)};
  storage::ReadBuffer buffer;
  SLUICE_TRY(const auto bytes,
             store.read(*found, 0, static_cast<std::size_t>(found->size), buffer));
  SLUICE_TRY(const Json json, parse_json(as_text(bytes), name));
  return token_index_from_json(json, name);
}

}  // namespace

Result<std::shared_ptr<const TokenDataset>> TokenDataset::open(
    std::shared_ptr<storage::ObjectStore> store, std::uint32_t sequence) {
  std::shared_ptr<TokenDataset> made(new TokenDataset);
  SLUICE_TRY(made->index_, read_index(*store));
  made->store_ = std::move(store);
  made->sequence_ = sequence;
  SLUICE_CHECK(made->find_shards());
  const std::uint64_t tokens = made->first_.back();
  if (tokens <= sequence)
    return Error{Errc::invalid_input,
                 fmt::format("{}: has {} tokens; a sequence of {} needs {}, its last target "
                             "included",
                             printable(made->store_->name()), tokens, sequence,
                             std::uint64_t{sequence} + 1)};
  made->size_ = (tokens - 1) / sequence;
  return std::shared_ptr<const TokenDataset>(std::move(made));
}

Status TokenDataset::find_shards() {
  const std::size_t width = bytes_of(index_.type);
  first_.push_back(0);
  for (const TokenIndex::Shard& shard : index_.shards) {
    const std::string name = place_of(*store_, shard.name);
    auto found = store_->stat(shard.name);
    if (!found && found.error().code == Errc::not_found)
      return Error{Errc::invalid_input,
                   fmt::format("{}: is not there, but {} names it with {} tokens", name,
                               kTokenIndexName, shard.tokens)};
    if (!found) return found.error();
    if (found->size % width != 0)
      return Error{Errc::invalid_input,
                   fmt::format("{}: has {} bytes; a multiple of {} is accepted, the bytes of a {} "
                               "token",
                               name, found->size, width, to_string(index_.type))};
    if (found->size / width != shard.tokens)
      return Error{Errc::invalid_input,
                   fmt::format("{}: holds {} tokens, but {} says {}", name, found->size / width,
                               kTokenIndexName, shard.tokens)};
    objects_.push_back(std::move(*found));
    first_.push_back(first_.back() + shard.tokens);
  }
  return ok;
}

std::size_t TokenDataset::shard_of(std::uint64_t token) const {
  // Of shards without tokens, which begin where the next one does, the last is taken.
  return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), token) -
                                  first_.begin()) -
         1;
}

std::string TokenDataset::name(std::uint64_t index) const {
  const std::uint64_t token = index * sequence_;
  const std::size_t shard = shard_of(token);
  return fmt::format("{}:{}", index_.shards[shard].name, token - first_[shard]);
}

Result<std::span<const std::byte>> TokenDataset::read_part(std::size_t shard, std::uint64_t token,
                                                           std::uint64_t count,
                                                           storage::ReadBuffer& buffer) const {
  const std::uint64_t width = bytes_of(index_.type);
  return store_->read(objects_[shard], (token - first_[shard]) * width,
                      static_cast<std::size_t>(count * width), buffer);
}

Result<std::span<const std::byte>> TokenDataset::read(std::uint64_t index,
                                                      storage::ReadBuffer& buffer) const {
  std::uint64_t token = index * sequence_;
  const std::uint64_t end = token + sequence_ + 1;
  std::size_t shard = shard_of(token);
  if (end <= first_[shard + 1]) return read_part(shard, token, end - token, buffer);
  // Over the edge of a shard: put together.
  const std::span<std::byte> whole = buffer.take(static_cast<std::size_t>(bytes(index)));
  storage::ReadBuffer piece;
  auto out = whole.begin();
  for (; token < end; token = first_[++shard]) {
    const std::uint64_t count = std::min(end, first_[shard + 1]) - token;
    if (count == 0) continue;
    SLUICE_TRY(const auto part, read_part(shard, token, count, piece));
    out = std::copy(part.begin(), part.end(), out);
  }
  return std::span<const std::byte>(whole);
}

Status TokenDataset::check_ids(std::uint32_t vocabulary) const {
  const std::uint32_t limit = std::min(vocabulary, index_.vocabulary);
  if (index_.type == TokenType::u16 && limit > UINT16_MAX) return ok;
  storage::ReadBuffer buffer;
  for (std::size_t shard = 0; shard < objects_.size(); ++shard) {
    for (std::uint64_t token = first_[shard]; token < first_[shard + 1]; token += kChecked) {
      const std::uint64_t count = std::min(kChecked, first_[shard + 1] - token);
      SLUICE_TRY(const auto raw, read_part(shard, token, count, buffer));
      if (const auto found = first_beyond(raw, index_.type, limit))
        return Error{
            Errc::invalid_input,
            fmt::format("{}: token {} is {}; {} has {} ids, 0 to {} are accepted",
                        place_of(*store_, index_.shards[shard].name),
                        token - first_[shard] + *found, token_at(raw, index_.type, *found),
                        limit == vocabulary ? "the model" : kTokenIndexName, limit, limit - 1)};
    }
  }
  return ok;
}

}  // namespace sluice::loader
