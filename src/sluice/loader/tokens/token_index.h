// sluice/loader/tokens/token_index.h - which files hold the tokens of a text, and how: tokens.json.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loader {

inline constexpr std::string_view kTokenIndexName = "tokens.json";
inline constexpr std::uint32_t kMostWords = 0x7fffffff;  // ids are int32 in a batch

enum class TokenType : std::uint8_t { u16, u32 };  // little-endian, nothing between them
const char* to_string(TokenType type);             // "uint16", "uint32"
std::size_t bytes_of(TokenType type);

/// Token `i` of `raw`. Precondition: it is there.
std::uint32_t token_at(std::span<const std::byte> raw, TokenType type, std::size_t i);
/// The first token that is `limit` or more, if any.
std::optional<std::size_t> first_beyond(std::span<const std::byte> raw, TokenType type,
                                        std::uint32_t limit);

/// One text: the tokens of all shards in this order, documents one after another.
struct TokenIndex {
  struct Shard {
    std::string name{};  // of a file beside the index
    std::uint64_t tokens = 0;
    friend bool operator==(const Shard&, const Shard&) = default;
  };
  TokenType type = TokenType::u16;
  std::uint32_t vocabulary = 0;                    // ids are below it
  std::optional<std::uint32_t> end_of_document{};  // the id behind each; nothing: none is marked
  std::vector<Shard> shards{};
  Json made = nullptr;  // how it was generated; null: it was not

  [[nodiscard]] std::uint64_t tokens() const;  // of all shards
};
Json to_json(const TokenIndex& index);
/// `name`: what errors call the file, printable. Unknown keys are passed over; a key that is
/// missing, a type that is not known and a value out of range are invalid_input.
Result<TokenIndex> token_index_from_json(const Json& json, const std::string& name);

}  // namespace sluice::loader
