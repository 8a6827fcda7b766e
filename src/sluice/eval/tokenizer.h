// sluice/eval/tokenizer.h - byte-level BPE with a fixed list of merges: any bytes to ids and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::eval {

/// Ids 0 to 255 are the bytes, then one per merge, then the end of a document. Text is cut into
/// words (a space with the letters after it, one digit, one mark, one blank), and merges never
/// cross them, so numbers are spelt digit by digit.
class Tokenizer {
 public:
  /// `merges`: a pair of ids per line, best first; line k makes token 256 + k. Errors
  /// (invalid_input) name the line.
  static Result<Tokenizer> parse(std::string_view merges);
  /// With the merges that are built in.
  static Result<Tokenizer> built_in();

  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const;
  /// The bytes of the ids; the end of a document has none. Precondition: ids below vocabulary().
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const;
  [[nodiscard]] int vocabulary() const { return static_cast<int>(bytes_.size()) + 1; }
  [[nodiscard]] std::int32_t end() const { return static_cast<std::int32_t>(bytes_.size()); }

 private:
  void encode_word(std::string_view word, std::vector<std::int32_t>& out) const;

  std::vector<std::string> bytes_;                        // of every id
  std::unordered_map<std::uint64_t, std::int32_t> made_;  // pair -> the id it makes
};

}  // namespace sluice::eval
