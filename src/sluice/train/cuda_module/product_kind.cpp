// sluice/train/cuda_module/product_kind.cpp - a choice to a line of text and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/product_kind.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace sluice::train::cuda {
namespace {

constexpr std::size_t kNumbers = 15, kWords = std::size(cublasLtMatmulAlgo_t{}.data);

std::array<std::int64_t, kNumbers> numbers_of(const Kind& kind) {
  return {kind.m,
          kind.n,
          kind.k,
          kind.lda,
          kind.ldb,
          kind.ldd,
          kind.transpose_a,
          kind.transpose_b,
          static_cast<std::int64_t>(kind.operands),
          static_cast<std::int64_t>(kind.sums),
          static_cast<std::int64_t>(kind.addend),
          kind.a_alignment,
          kind.b_alignment,
          kind.c_alignment,
          kind.d_alignment};
}

template <class T>
void append(std::string& text, T value, int base) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value, base).ptr;
  text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  text += ' ';
}

/// Takes a number and the space or end behind it from the front.
template <class T>
bool take(std::string_view& line, T& value, int base) {
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), value, base);
  if (problem != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.empty()) return true;
  if (line.front() != ' ') return false;
  line.remove_prefix(1);
  return true;
}

}  // namespace

std::string line_of(const Kind& kind, const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const std::int64_t number : numbers_of(kind))
    append(text, number, 10);
  for (const std::uint64_t word : algorithm.data)
    append(text, word, 16);
  text.back() = '\n';
  return text;
}

bool parse_line(std::string_view line, Kind& kind, cublasLtMatmulAlgo_t& algorithm) {
  std::array<std::int64_t, kNumbers> number{};
  for (std::int64_t& value : number)
    if (!take(line, value, 10)) return false;
  std::array<std::uint64_t, kWords> word{};
  for (std::uint64_t& value : word)
    if (!take(line, value, 16)) return false;
  if (!line.empty()) return false;
  const auto small = [&](std::size_t i) { return static_cast<std::uint32_t>(number[i]); };
  kind = {.device = kind.device,
          .m = number[0],
          .n = number[1],
          .k = number[2],
          .lda = number[3],
          .ldb = number[4],
          .ldd = number[5],
          .transpose_a = number[6] != 0,
          .transpose_b = number[7] != 0,
          .operands = static_cast<Dtype>(number[8]),
          .sums = static_cast<Dtype>(number[9]),
          .addend = static_cast<Addend>(number[10]),
          .a_alignment = small(11),
          .b_alignment = small(12),
          .c_alignment = small(13),
          .d_alignment = small(14)};
  if (numbers_of(kind) != number) return false;  // a value that its type does not hold
  for (std::size_t i = 0; i < kWords; ++i)
    algorithm.data[i] = word[i];
  return true;
}

}  // namespace sluice::train::cuda
