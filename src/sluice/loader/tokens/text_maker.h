// sluice/loader/tokens/text_maker.h - a generated text from which a model can learn, as token
// files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/progress.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice::loader {

struct TextOptions {
  std::filesystem::path folder{};
  std::uint64_t tokens = 0;         // of all shards, 2 to kMostMadeTokens
  std::uint64_t vocabulary = 4096;  // ids, 3 to kMostMadeWords; 0 ends a document
  std::uint64_t shards = 1;  // 1 to `tokens`, of about equal length; 2^28 tokens at most each
  std::uint64_t seed = 0;
  bool force = false;  // write into a folder that holds something else
};
inline constexpr std::uint64_t kMostMadeTokens = std::uint64_t{1} << 36;
inline constexpr std::uint64_t kMostMadeWords = std::uint64_t{1} << 20;

struct MadeText {
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;
  std::uint64_t bytes = 0;    // of the shards
  std::uint64_t written = 0;  // shards; the rest was there already
  double unigram_nats = 0;    // entropy of the tokens' frequencies: the loss of a model that has
                              // learnt them and nothing else
  std::string hash{};         // of names and bytes, as DatasetHash
};

/// tokens.json and tokens-00000.bin, ...: words with Zipf's frequencies, each followed by one of
/// four of its own in seven cases of eight, else by any; documents of 32 to 2047 words. Integers
/// alone decide, so the same options give the same bytes on any machine. Run again it writes only
/// what is missing or different. Other tokens, or other files, are refused without `force`.
Result<MadeText> make_text(const TextOptions& options, Progress& progress = Progress::silent());

}  // namespace sluice::loader
