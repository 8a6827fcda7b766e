// sluice/loader/tokens/text_maker.cpp - a Markov chain over words, cut into shards.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/tokens/text_maker.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/rng.h"
#include "sluice/core/temporary_files.h"
#include "sluice/core/text.h"
#include "sluice/image/dataset.h"
#include "sluice/loader/tokens/token_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace sluice::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEndOfDocument = 0;
constexpr std::uint64_t kMostShardTokens = std::uint64_t{1} << 28;  // one is made in memory
constexpr std::uint32_t kLinkStage = 1, kDocumentStage = 2;
constexpr std::string_view kShardPrefix = "tokens-";

std::string text_shard(std::uint64_t shard) {
  return fmt::format("{}{:05}.bin", kShardPrefix, shard);
}

/// Which word follows which. Word r (1 is the first) has weight 1/r.
class WordChain {
 public:
  WordChain(std::uint64_t vocabulary, std::uint64_t seed)
      : below_(vocabulary - 1), links_(vocabulary) {
    constexpr std::uint64_t kScale = std::uint64_t{1} << 40;  // of weights, which are integers
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < below_.size(); ++r)
      below_[r] = sum += kScale / (r + 1);
    for (std::uint64_t word = 1; word < vocabulary; ++word) {
      Rng rng({.seed = seed, .index = word, .stage = kLinkStage});
      for (std::uint32_t& link : links_[word])
        link = any(rng);
    }
  }

  [[nodiscard]] std::uint32_t any(Rng& rng) const {
    const std::uint64_t place = rng.below(below_.back());
    return 1 + static_cast<std::uint32_t>(std::upper_bound(below_.begin(), below_.end(), place) -
                                          below_.begin());
  }
  [[nodiscard]] std::uint32_t after(std::uint32_t word, Rng& rng) const {
    constexpr std::array<std::uint64_t, 4> kUpTo{7, 11, 13, 14};  // of 16; the rest: any
    const std::uint64_t draw = rng.below(16);
    for (std::size_t k = 0; k < kUpTo.size(); ++k)
      if (draw < kUpTo[k]) return links_[word][k];
    return any(rng);
  }

 private:
  std::vector<std::uint64_t> below_;  // sums of weights up to each word
  std::vector<std::array<std::uint32_t, 4>> links_;
};

/// The text, token by token.
class TextStream {
 public:
  TextStream(const WordChain& chain, std::uint64_t seed) : chain_(chain), seed_(seed) { begin(); }

  std::uint32_t next() {
    if (left_ == 0) {
      ++documents_;
      begin();
      return kEndOfDocument;
    }
    word_ = word_ == kEndOfDocument ? chain_.any(rng_) : chain_.after(word_, rng_);
    --left_;
    return word_;
  }
  [[nodiscard]] std::uint64_t documents() const { return documents_; }  // that have ended

 private:
  void begin() {
    rng_ = Rng({.seed = seed_, .index = documents_, .stage = kDocumentStage});
    const std::uint64_t length = std::uint64_t{32} << rng_.below(6);
    left_ = length + rng_.below(length);
    word_ = kEndOfDocument;
  }

  const WordChain& chain_;
  std::uint64_t seed_;
  Rng rng_{RngKey{}};
  std::uint64_t documents_ = 0, left_ = 0;
  std::uint32_t word_ = kEndOfDocument;
};

Status check_text(const TextOptions& options) {
  if (options.folder.empty())
    return Error{Errc::usage, "the folder to write is missing; --out DIR is accepted"};
  const auto in_range = [](const char* flag, std::uint64_t value, std::uint64_t low,
                           std::uint64_t high) -> Status {
    if (value >= low && value <= high) return ok;
    return Error{Errc::usage, fmt::format("{} {}: {} to {} is accepted", flag, value, low, high)};
  };
  SLUICE_CHECK(in_range("--tokens", options.tokens, 2, kMostMadeTokens));
  SLUICE_CHECK(in_range("--vocabulary", options.vocabulary, 3, kMostMadeWords));
  const std::uint64_t fewest = (options.tokens + kMostShardTokens - 1) / kMostShardTokens;
  return in_range("--shards", options.shards, fewest,
                  std::min<std::uint64_t>(options.tokens, 100'000));
}

TokenIndex index_of(const TextOptions& options) {
  TokenIndex index;
  index.type = options.vocabulary <= UINT16_MAX + 1 ? TokenType::u16 : TokenType::u32;
  index.vocabulary = static_cast<std::uint32_t>(options.vocabulary);
  index.end_of_document = kEndOfDocument;
  for (std::uint64_t s = 0; s < options.shards; ++s) {
    const std::uint64_t more = s < options.tokens % options.shards ? 1 : 0;
    index.shards.push_back({text_shard(s), options.tokens / options.shards + more});
  }
  index.made = Json{{"text", "markov-zipf-1"}, {"seed", options.seed}};
  return index;
}

/// The folder is ours when its index is the one that we would write. With `force` what other
/// tokens are there goes first: shards of two texts never lie side by side.
Status claim_folder(const TextOptions& options, const std::string& index) {
  const auto there = read_text_file(options.folder / kTokenIndexName);
  if (there && *there == index) return ok;
  std::vector<fs::path> shards;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options.folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name == kLockInFolder) continue;
    if (!options.force)
      return Error{Errc::usage, fmt::format("{}: holds other files, such as '{}'; an empty folder, "
                                            "or --force, is accepted",
                                            shown(options.folder), printable(name))};
    if (name.starts_with(kShardPrefix) && name.ends_with(".bin")) shards.push_back(entry.path());
  }
  for (const fs::path& shard : shards)
    if (!fs::remove(shard, error) && error)
      return Error{Errc::io,
                   fmt::format("{}: cannot be removed: {}", shown(shard), error.message())};
  return write_file_atomic(options.folder / kTokenIndexName, index);
}

/// Counts of every token.
double entropy_nats(const std::vector<std::uint64_t>& counts, std::uint64_t tokens) {
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(tokens);
    if (count > 0) sum -= share * std::log(share);
  }
  return sum;
}

}  // namespace

Result<MadeText> make_text(const TextOptions& options, Progress& progress) {
  SLUICE_CHECK(check_text(options));
  SLUICE_CHECK(create_folders(options.folder));
  SLUICE_TRY(const FileLock lock,
             FileLock::take(options.folder / kLockInFolder, shown(options.folder)));
  remove_stale_temporaries(options.folder);
  const TokenIndex index = index_of(options);
  // Before the shards: a run that is killed leaves an index that does not fit, which no loader
  // takes, and which the same command completes.
  SLUICE_CHECK(claim_folder(options, dump_json(to_json(index)) + "\n"));
  const WordChain chain(options.vocabulary, options.seed);
  TextStream stream(chain, options.seed);
  std::vector<std::uint64_t> counts(options.vocabulary);
  MadeText made;
  image::DatasetHash hash;
  Progress::Bar bar = progress.bar("make text", options.shards, "shards");
  std::vector<std::uint8_t> bytes;
  for (const TokenIndex::Shard& shard : index.shards) {
    const std::size_t width = bytes_of(index.type);
    bytes.resize(static_cast<std::size_t>(shard.tokens) * width);
    for (std::size_t i = 0; i < bytes.size(); i += width) {
      const std::uint32_t token = stream.next();
      ++counts[token];
      for (std::size_t b = 0; b < width; ++b)
        bytes[i + b] = static_cast<std::uint8_t>(token >> (8 * b));
    }
    hash.add(shard.name, bytes);
    const fs::path path = options.folder / shard.name;
    const auto there = read_binary_file(path, bytes.size());
    if (!there || *there != bytes) {
      SLUICE_CHECK(write_file_atomic(
          path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, Flush::later));
      ++made.written;
    }
    made.tokens += shard.tokens;
    made.bytes += bytes.size();
    bar.add();
  }
  made.documents = stream.documents();
  made.unigram_nats = entropy_nats(counts, made.tokens);
  made.hash = hash.hex();
  return made;
}

}  // namespace sluice::loader
