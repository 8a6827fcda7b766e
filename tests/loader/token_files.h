// tests/loader/token_files.h - token files written by hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file.h"
#include "sluice/loader/tokens/token_dataset.h"
#include "sluice/storage/local/store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::loader::testing {

inline void write_shard(const std::filesystem::path& path, const std::vector<std::uint32_t>& tokens,
                        TokenType type) {
  std::string bytes;
  for (const std::uint32_t token : tokens)
    for (std::size_t b = 0; b < bytes_of(type); ++b)
      bytes += static_cast<char>(token >> (8 * b) & 0xff);
  ASSERT_TRUE(write_file_atomic(path, bytes, Flush::later));
}

/// Shards 0.bin, 1.bin, ... and their index.
inline TokenIndex write_text(const std::filesystem::path& folder,
                             const std::vector<std::vector<std::uint32_t>>& shards,
                             TokenType type = TokenType::u16, std::uint32_t vocabulary = 100) {
  TokenIndex index;
  index.type = type;
  index.vocabulary = vocabulary;
  index.end_of_document = 0;
  for (const auto& tokens : shards) {
    index.shards.push_back({std::to_string(index.shards.size()) + ".bin", tokens.size()});
    write_shard(folder / index.shards.back().name, tokens, type);
  }
  EXPECT_TRUE(write_file_atomic(folder / kTokenIndexName, dump_json(to_json(index)), Flush::later));
  return index;
}

inline Result<std::shared_ptr<const TokenDataset>> open_tokens(const std::filesystem::path& folder,
                                                               std::uint32_t sequence) {
  SLUICE_TRY(auto store,
             storage::open_local({.path = folder, .read_mode = storage::ReadMode::mmap}));
  return TokenDataset::open(std::shared_ptr<storage::ObjectStore>(std::move(store)), sequence);
}

/// `count` tokens 0, 1, 2, ... below 100.
inline std::vector<std::uint32_t> counting(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> tokens(count);
  for (std::uint32_t i = 0; i < count; ++i)
    tokens[i] = (first + i) % 100;
  return tokens;
}

}  // namespace sluice::loader::testing
