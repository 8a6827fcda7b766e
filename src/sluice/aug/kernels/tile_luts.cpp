// sluice/aug/kernels/tile_luts.cpp - contrast-limited equalisation: one table of levels per tile.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/tile_luts.h"

#include "sluice/aug/border.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::aug::kernels {
namespace {

/// Four, so that neighbours of one level do not wait for each other.
using Counts = std::array<std::array<std::uint32_t, 256>, 4>;

void count_row(Counts& counts, const std::uint8_t* from, int count) {
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, from + i, sizeof(eight));
    ++counts[0][eight & 255];
    ++counts[1][(eight >> 8) & 255];
    ++counts[2][(eight >> 16) & 255];
    ++counts[3][(eight >> 24) & 255];
    ++counts[0][(eight >> 32) & 255];
    ++counts[1][(eight >> 40) & 255];
    ++counts[2][(eight >> 48) & 255];
    ++counts[3][eight >> 56];
  }
  for (; i < count; ++i)
    ++counts[0][from[i]];
}

void count_tile(std::array<std::uint32_t, 256>& sums, const std::uint8_t* plane, std::size_t pitch,
                const Tiling& t, int column, int row) {
  const int x0 = column * t.tile_width;
  const int inside = std::clamp(t.width - x0, 0, t.tile_width);
  Counts counts{};
  for (int y = row * t.tile_height; y < (row + 1) * t.tile_height; ++y) {
    const std::uint8_t* from = plane + static_cast<std::size_t>(reflect_101(y, t.height)) * pitch;
    count_row(counts, from + x0, inside);
    for (int x = inside; x < t.tile_width; ++x)
      ++counts[0][from[reflect_101(x0 + x, t.width)]];
  }
  for (std::size_t level = 0; level < 256; ++level)
    sums[level] = counts[0][level] + counts[1][level] + counts[2][level] + counts[3][level];
}

/// What lies above the clip is spread over all levels.
void clip_counts(std::array<std::uint32_t, 256>& counts, int clip) {
  const auto limit = static_cast<std::uint32_t>(clip);
  std::uint32_t excess = 0;
  for (std::uint32_t& count : counts)
    if (count > limit) {
      excess += count - limit;
      count = limit;
    }
  for (std::uint32_t& count : counts)
    count += excess / 256;
  const std::uint32_t rest = excess % 256;
  if (rest == 0) return;
  const std::uint32_t step = std::max(256 / rest, 1U);
  std::uint32_t given = 0;
  for (std::uint32_t level = 0; level < 256 && given < rest; level += step, ++given)
    ++counts[level];
}

/// a / b, exactly: the product with the inverse is off by one at most.
std::int64_t divide(std::int64_t a, std::int64_t b, double inverse) {
  const auto near = static_cast<std::int64_t>(static_cast<double>(a) * inverse);
  const std::int64_t rest = a - near * b;
  return near + (rest >= b ? 1 : 0) - (rest < 0 ? 1 : 0);
}

}  // namespace

Tiling::Tiling(int w, int h, int grid_columns, int grid_rows, double clip_limit)
    : width(w), height(h), columns(grid_columns), rows(grid_rows) {
  const bool whole = w % grid_columns == 0 && h % grid_rows == 0;
  tile_width = w / grid_columns + (whole ? 0 : 1);
  tile_height = h / grid_rows + (whole ? 0 : 1);
  const double area = static_cast<double>(tile_width) * static_cast<double>(tile_height);
  clip = std::max(static_cast<int>(clip_limit * area / 256), 1);
}

void make_tile_luts(std::uint8_t* luts, const std::uint8_t* plane, std::size_t pitch,
                    const Tiling& tiling) {
  const auto area =
      static_cast<std::int64_t>(tiling.tile_width) * static_cast<std::int64_t>(tiling.tile_height);
  const double inverse = 0.5 / static_cast<double>(area);
  for (int row = 0; row < tiling.rows; ++row)
    for (int column = 0; column < tiling.columns; ++column, luts += 256) {
      std::array<std::uint32_t, 256> counts{};
      count_tile(counts, plane, pitch, tiling, column, row);
      clip_counts(counts, tiling.clip);
      std::int64_t sum = 0;
      for (std::size_t level = 0; level < 256; ++level) {
        sum += 510 * std::int64_t{counts[level]};
        luts[level] = static_cast<std::uint8_t>(divide(sum + area, 2 * area, inverse));
      }
    }
}

void make_cells(std::uint64_t* cells, const std::uint8_t* luts, const Tiling& tiling) {
  for (int row = 0; row <= tiling.rows; ++row)
    for (int column = 0; column <= tiling.columns; ++column, cells += 256) {
      const auto lut = [&](int r, int c) {
        return luts + (replicate(r, tiling.rows) * tiling.columns + replicate(c, tiling.columns)) *
                          std::ptrdiff_t{256};
      };
      const std::uint8_t *a = lut(row - 1, column - 1), *b = lut(row - 1, column);
      const std::uint8_t *c = lut(row, column - 1), *d = lut(row, column);
      for (std::size_t level = 0; level < 256; ++level)
        cells[level] = (std::uint64_t{a[level]} | std::uint64_t{b[level]} << 16 |
                        std::uint64_t{c[level]} << 32 | std::uint64_t{d[level]} << 48)
                       << 7;
    }
}

}  // namespace sluice::aug::kernels
