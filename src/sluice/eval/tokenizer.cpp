// sluice/eval/tokenizer.cpp - the cut into words and the merges within them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/tokenizer.h"

#include "sluice/core/text.h"
#include "sluice/eval/data.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <optional>

namespace sluice::eval {
namespace {

constexpr std::size_t kLongestWord = 256;  // bytes; longer ones are cut: merging is quadratic

enum class Kind : std::uint8_t { blank, letter, digit, mark };

/// By bytes, not by locale: what is outside ASCII counts as a letter.
Kind kind_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return Kind::blank;
  if (byte >= '0' && byte <= '9') return Kind::digit;
  if (byte >= 0x80 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
    return Kind::letter;
  return Kind::mark;
}

/// Bytes of the word that `text` begins with. Precondition: it is not empty.
std::size_t word_length(std::string_view text) {
  const std::size_t begin =
      text[0] == ' ' && text.size() > 1 && kind_of(text[1]) != Kind::blank ? 1 : 0;
  const Kind kind = kind_of(text[begin]);
  std::size_t end = begin + 1;
  if (kind != Kind::letter) return end;
  while (end < text.size() && end < kLongestWord && kind_of(text[end]) == Kind::letter)
    ++end;
  return end;
}

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32U | static_cast<std::uint32_t>(right);
}

std::optional<std::pair<std::int32_t, std::int32_t>> parse_pair(std::string_view line) {
  std::int32_t left = 0;
  std::int32_t right = 0;
  const char* end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, left);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, right);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return std::pair(left, right);
}

}  // namespace

Result<Tokenizer> Tokenizer::parse(std::string_view merges) {
  Tokenizer out;
  for (int byte = 0; byte < 256; ++byte)
    out.bytes_.emplace_back(1, static_cast<char>(byte));
  std::size_t number = 0;
  for (const std::string& line : split(merges, '\n')) {
    ++number;
    if (line.empty()) continue;
    const auto pair = parse_pair(line);
    const auto known = static_cast<std::int32_t>(out.bytes_.size());
    if (!pair || pair->first < 0 || pair->second < 0 || pair->first >= known ||
        pair->second >= known) {
      return Error{Errc::invalid_input,
                   fmt::format("merges, line {}: '{}'; two ids below {} are accepted", number,
                               printable(line), known)};
    }
    if (!out.made_.emplace(key_of(pair->first, pair->second), known).second) {
      return Error{Errc::invalid_input,
                   fmt::format("merges, line {}: '{}' was merged before", number, printable(line))};
    }
    out.bytes_.push_back(out.bytes_[static_cast<std::size_t>(pair->first)] +
                         out.bytes_[static_cast<std::size_t>(pair->second)]);
  }
  return out;
}

Result<Tokenizer> Tokenizer::built_in() {
  SLUICE_TRY(const std::string_view merges, data_file("merges.txt"));
  return parse(merges);
}

/// The pair that was learned first is joined first, wherever it stands, from the left.
void Tokenizer::encode_word(std::string_view word, std::vector<std::int32_t>& out) const {
  std::vector<std::int32_t> ids;
  ids.reserve(word.size());
  for (const char c : word)
    ids.push_back(static_cast<unsigned char>(c));
  while (ids.size() > 1) {
    std::int32_t best = end();
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = made_.find(key_of(ids[i], ids[i + 1]));
      if (found == made_.end() || found->second >= best) continue;
      best = found->second;
      place = i;
    }
    if (best == end()) break;
    ids[place] = best;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
  out.insert(out.end(), ids.begin(), ids.end());
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> out;
  out.reserve(text.size() / 2);
  while (!text.empty()) {
    const std::size_t length = word_length(text);
    encode_word(text.substr(0, length), out);
    text.remove_prefix(length);
  }
  return out;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string out;
  for (const std::int32_t id : ids)
    if (id != end()) out += bytes_[static_cast<std::size_t>(id)];
  return out;
}

}  // namespace sluice::eval
