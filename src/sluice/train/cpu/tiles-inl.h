// sluice/train/cpu/tiles-inl.h - products of small fp32 matrices: tiles of rows by vectors kept in
// registers.
// SPDX-License-Identifier: Apache-2.0
#if defined(SLUICE_TRAIN_CPU_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_TRAIN_CPU_TILES_INL_H_
#undef SLUICE_TRAIN_CPU_TILES_INL_H_
#else
#define SLUICE_TRAIN_CPU_TILES_INL_H_
#endif

#include "sluice/train/cpu/vectors-inl.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {

// 24 sums, 4 vectors of B and one element of A fill 29 of 32 registers; 12, 2 and 1 of 16.
constexpr std::int64_t kTileRows = 6;
constexpr std::int64_t kTileVectors = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64 ? 4 : 2;
/// Terms of a sum in one go: so many rows of B (a tile wide) and of Aᵀ stay in the nearest cache.
constexpr std::int64_t kTileDepth = 128;

/// Which terms or columns are zero by the causal mask; `first_row` is row 0 of C among the tokens.
enum class Causal : std::uint8_t {
  no,
  columns_to_row,  // column j of row i: only j <= i is wanted (scores)
  terms_to_row,    // A[i, t] is zero for t > i (probabilities times values)
  terms_from_row,  // A[i, t] is zero for t < i (transposed probabilities times queries)
};

/// C [rows, columns] = A · B, += with `add`. Row-major; A is stored [terms, rows] with `across`.
/// Rows of B and C are read and written in whole vectors: columns rounded up to one.
struct Product {
  float* c;
  std::int64_t c_row;
  const float* a;
  std::int64_t a_row;
  const float* b;
  std::int64_t b_row;
  std::int64_t rows, columns, terms;
  bool add = false;
  Causal causal = Causal::no;
  std::int64_t first_row = 0;   // of C, where causal
  std::int64_t first_term = 0;  // of A and B, where causal
};

template <bool kAcross, int kRows, int kVectors>
HWY_NOINLINE void tile(float* HWY_RESTRICT c, std::int64_t c_row, const float* HWY_RESTRICT a,
                       std::int64_t a_row, const float* HWY_RESTRICT b, std::int64_t b_row,
                       std::int64_t terms, bool add) {
  const F f;
  const std::int64_t step = lanes();
  V sum[kRows][kVectors];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j)
      sum[i][j] = hn::Zero(f);
  for (std::int64_t t = 0; t < terms; ++t) {
    V row[kVectors];
    for (int j = 0; j < kVectors; ++j)
      row[j] = hn::LoadU(f, b + j * step);
    for (int i = 0; i < kRows; ++i) {
      const V one = hn::Set(f, kAcross ? a[i] : a[i * a_row]);
      for (int j = 0; j < kVectors; ++j)
        sum[i][j] = hn::MulAdd(one, row[j], sum[i][j]);
    }
    a += kAcross ? a_row : 1;
    b += b_row;
  }
  if (add) {  // here and not before the loop: the compiler then keeps the sums in registers
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kVectors; ++j)
        hn::StoreU(hn::Add(sum[i][j], hn::LoadU(f, c + i * c_row + j * step)), f,
                   c + i * c_row + j * step);
    return;
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j)
      hn::StoreU(sum[i][j], f, c + i * c_row + j * step);
}

using Tile = void (*)(float*, std::int64_t, const float*, std::int64_t, const float*, std::int64_t,
                      std::int64_t, bool);

template <bool kAcross, std::size_t... kIndex>
constexpr std::array<Tile, sizeof...(kIndex)> make_tiles(std::index_sequence<kIndex...>) {
  return {&tile<kAcross, static_cast<int>(kIndex / kTileVectors) + 1,
                static_cast<int>(kIndex % kTileVectors) + 1>...};
}

/// Part `index` of `count` things in `parts` that differ by one at most.
HWY_INLINE std::int64_t cut(std::int64_t count, std::int64_t parts, std::int64_t index) {
  return count / parts * index + std::min(count % parts, index);
}
HWY_INLINE std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

template <bool kAcross>
void multiply(const Product& p) {
  static constexpr auto kTiles =
      make_tiles<kAcross>(std::make_index_sequence<kTileRows * kTileVectors>());
  const std::int64_t step = lanes(), vectors = ceil_div(p.columns, step);
  const std::int64_t row_parts = ceil_div(p.rows, kTileRows);
  const std::int64_t vector_parts = ceil_div(vectors, kTileVectors);
  const std::int64_t depths = std::max<std::int64_t>(ceil_div(p.terms, kTileDepth), 1);
  for (std::int64_t depth = 0; depth < depths; ++depth)
    for (std::int64_t part = 0; part < vector_parts; ++part)
      for (std::int64_t band = 0; band < row_parts; ++band) {
        const std::int64_t row = cut(p.rows, row_parts, band);
        const std::int64_t rows = cut(p.rows, row_parts, band + 1) - row;
        const std::int64_t vector = cut(vectors, vector_parts, part);
        std::int64_t wide = cut(vectors, vector_parts, part + 1) - vector;
        std::int64_t term = cut(p.terms, depths, depth), end = cut(p.terms, depths, depth + 1);
        const std::int64_t token = p.first_row + row - p.first_term;
        bool add = p.add || depth > 0;
        if (p.causal == Causal::columns_to_row)
          wide = std::min(wide, ceil_div(p.first_row + row + rows, step) - vector);
        if (p.causal == Causal::terms_to_row) end = std::min(end, token + rows);
        if (p.causal == Causal::terms_from_row) {
          add = p.add || (depth > 0 && token < term);  // what earlier terms wrote is zero else
          term = std::max(term, token);
        }
        if (wide <= 0 || (term >= end && add)) continue;
        const std::int64_t terms = std::max<std::int64_t>(end - term, 0);
        kTiles[static_cast<std::size_t>((rows - 1) * kTileVectors + wide - 1)](
            p.c + row * p.c_row + vector * step, p.c_row,
            p.a + (kAcross ? term * p.a_row + row : row * p.a_row + term), p.a_row,
            p.b + term * p.b_row + vector * step, p.b_row, terms, add);
      }
}

}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
