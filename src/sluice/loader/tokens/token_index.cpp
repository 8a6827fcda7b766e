// sluice/loader/tokens/token_index.cpp - tokens.json read and written; tokens out of raw bytes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/tokens/token_index.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::loader {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

constexpr const char* kTokenSchema = "sluice-tokens-1";
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 48;  // of all shards

template <class Word>
Word word_at(std::span<const std::byte> raw, std::size_t i) {
  Word word;
  std::memcpy(&word, raw.data() + i * sizeof(Word), sizeof(Word));
  return word;
}

/// Whole blocks first: their largest is found without a branch per token.
template <class Word>
std::optional<std::size_t> first_word_beyond(std::span<const std::byte> raw, std::uint32_t limit) {
  constexpr std::size_t kBlock = 4096;
  const std::size_t count = raw.size() / sizeof(Word);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(count, begin + kBlock);
    Word most = 0;
    for (std::size_t i = begin; i < end; ++i)
      most = std::max(most, word_at<Word>(raw, i));
    if (most < limit) continue;
    for (std::size_t i = begin; i < end; ++i)
      if (word_at<Word>(raw, i) >= limit) return i;
  }
  return std::nullopt;
}

Error wrong_field(const std::string& name, std::string_view key, const Json& value,
                  std::string_view accepted) {
  constexpr std::size_t kShown = 60;  // characters of what may be a long list
  std::string text = value.is_null() ? "missing" : dump_json(value, -1);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return {Errc::invalid_input,
          fmt::format("{}: {} is {}; {} is accepted", name, key, printable(text), accepted)};
}

Result<std::uint64_t> number_in(const std::string& name, std::string_view key, const Json& value,
                                std::uint64_t low, std::uint64_t high) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() >= low &&
      value.get<std::uint64_t>() <= high)
    return value.get<std::uint64_t>();
  return wrong_field(name, key, value, fmt::format("a whole number from {} to {}", low, high));
}

/// A file beside the index, nothing that leads elsewhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

Result<TokenIndex::Shard> shard_from_json(const Json& json, const std::string& name,
                                          std::size_t number, std::uint64_t room) {
  TokenIndex::Shard shard;
  const std::string key = fmt::format("shards[{}]", number);
  const Json& file = at(json, "name");
  if (!file.is_string() || !is_plain_name(file.get<std::string>()))
    return wrong_field(name, key + ".name", file, "the name of a file beside it");
  shard.name = file.get<std::string>();
  SLUICE_TRY(shard.tokens, number_in(name, key + ".tokens", at(json, "tokens"), 0, room));
  return shard;
}

}  // namespace

const char* to_string(TokenType type) {
  return type == TokenType::u16 ? "uint16" : "uint32";
}

std::size_t bytes_of(TokenType type) {
  return type == TokenType::u16 ? 2 : 4;
}

std::uint32_t token_at(std::span<const std::byte> raw, TokenType type, std::size_t i) {
  return type == TokenType::u16 ? word_at<std::uint16_t>(raw, i) : word_at<std::uint32_t>(raw, i);
}

std::optional<std::size_t> first_beyond(std::span<const std::byte> raw, TokenType type,
                                        std::uint32_t limit) {
  return type == TokenType::u16 ? first_word_beyond<std::uint16_t>(raw, limit)
                                : first_word_beyond<std::uint32_t>(raw, limit);
}

std::uint64_t TokenIndex::tokens() const {
  std::uint64_t sum = 0;
  for (const Shard& shard : shards)
    sum += shard.tokens;
  return sum;
}

Json to_json(const TokenIndex& index) {
  Json shards = Json::array();
  for (const TokenIndex::Shard& shard : index.shards)
    shards.push_back(Json{{"name", shard.name}, {"tokens", shard.tokens}});
  Json json{{"schema", kTokenSchema},
            {"dtype", to_string(index.type)},
            {"vocabulary", index.vocabulary},
            {"end_of_document", index.end_of_document ? Json(*index.end_of_document) : Json()},
            {"shards", std::move(shards)}};
  if (!index.made.is_null()) json["made"] = index.made;
  return json;
}

Result<TokenIndex> token_index_from_json(const Json& json, const std::string& name) {
  if (at(json, "schema") != kTokenSchema)
    return wrong_field(name, "schema", at(json, "schema"), fmt::format("\"{}\"", kTokenSchema));
  TokenIndex index;
  const Json& dtype = at(json, "dtype");
  if (dtype == to_string(TokenType::u32))
    index.type = TokenType::u32;
  else if (dtype != to_string(TokenType::u16))
    return wrong_field(name, "dtype", dtype, "\"uint16\" or \"uint32\"");
  SLUICE_TRY(const std::uint64_t words,
             number_in(name, "vocabulary", at(json, "vocabulary"), 1, kMostWords));
  index.vocabulary = static_cast<std::uint32_t>(words);
  if (const Json& end = at(json, "end_of_document"); !end.is_null()) {
    SLUICE_TRY(const std::uint64_t id, number_in(name, "end_of_document", end, 0, words - 1));
    index.end_of_document = static_cast<std::uint32_t>(id);
  }
  const Json& shards = at(json, "shards");
  if (!shards.is_array() || shards.empty())
    return wrong_field(name, "shards", shards, "a list of objects with name and tokens");
  std::uint64_t room = kMostTokens;
  for (const Json& shard : shards) {
    SLUICE_TRY(auto read, shard_from_json(shard, name, index.shards.size(), room));
    room -= read.tokens;
    index.shards.push_back(std::move(read));
  }
  index.made = at(json, "made");
  return index;
}

}  // namespace sluice::loader
