// sluice/aug/kernels/tile_luts.h - contrast-limited equalisation: one table of levels per tile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::aug::kernels {

/// A plane of 8-bit samples, cut into columns x rows tiles. When either side is no multiple, both
/// are extended by mirroring (reflect_101), as OpenCV does.
struct Tiling {
  int width = 0, height = 0;
  int columns = 1, rows = 1;
  int tile_width = 1, tile_height = 1;
  int clip = 1;  // samples a level of a tile may count

  Tiling(int w, int h, int grid_columns, int grid_rows, double clip_limit);
};

/// luts[(row * columns + column) * 256 + level].
void make_tile_luts(std::uint8_t* luts, const std::uint8_t* plane, std::size_t pitch,
                    const Tiling& tiling);

/// Each cell between the centres of four tiles (those at the edge count twice), rows + 1 by columns
/// + 1 of them: cells[(row * (columns + 1) + column) * 256 + level] holds the four levels times
/// 128, from the lowest bits up: above left, above right, below left, below right.
void make_cells(std::uint64_t* cells, const std::uint8_t* luts, const Tiling& tiling);

}  // namespace sluice::aug::kernels
